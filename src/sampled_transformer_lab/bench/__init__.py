"""Measure the time and memory of attention and its rivals on the user's own machine."""
