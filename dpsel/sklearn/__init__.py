"""`dpsel.sklearn.PrivateSelectKBest`: private feature selection as a step of scikit-learn."""

from dpsel.sklearn.selector import PrivateSelectKBest

__all__ = ["PrivateSelectKBest"]
