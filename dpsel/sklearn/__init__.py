"""`dpsel.sklearn.PrivateSelectKBest`: private feature selection as a step of scikit-learn.

The order in which to read:

    selector.py        the estimator
    training_table.py  X and y as one frame for `select`
    tally.py           what the fits without a ledger cost together
"""

from dpsel.sklearn.selector import PrivateSelectKBest

__all__ = ["PrivateSelectKBest"]
