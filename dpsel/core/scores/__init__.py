"""Scores of features, one file a score."""
