"""Scores of features; and here their names, for callers that need nothing else."""

SCORE_NAMES = ("stump", "dot", "covariance", "kendall")
GROUP = "dpsel.scores"
"""The group of entry points in which other packages offer scores."""
