"""Amortised clustering (section 6): likelihood, training, evaluation, and fitting a file of points."""
