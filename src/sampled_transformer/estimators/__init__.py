"""Estimators in the sense of scikit-learn for sets: lists of (n_i, d) arrays with any number of columns d."""

from .classifier import SetClassifier
from .features import SetFeatures
from .regressor import SetRegressor

__all__ = ["SetClassifier", "SetFeatures", "SetRegressor"]
