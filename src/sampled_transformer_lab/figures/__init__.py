"""Figures for the README and the documentation: one drawing, written as SVG and as PNG."""
