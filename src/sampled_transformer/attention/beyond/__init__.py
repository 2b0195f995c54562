"""Mechanisms that the paper does not have."""
