"""HTML pages about training runs and evaluations."""
