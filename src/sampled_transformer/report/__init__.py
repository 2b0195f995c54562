"""Figures and pages: what was measured, and what a network sees."""
