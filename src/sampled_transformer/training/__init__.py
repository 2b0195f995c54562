"""Training: settings, recipes, loading, tasks and the run folder."""
