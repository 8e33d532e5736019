"""Scores of features, one file a score; and their names, for those who need no more."""

SCORE_NAMES = ("stump", "dot", "covariance", "kendall")
GROUP = "dpsel.scores"
"""The entry points by which other packages offer scores."""
