"""Training: settings, recipes, data loading, the tasks that Lightning trains, runs and their folders."""
