"""A data scientist: a frame, a private selection, a model on it."""

import polars as pl
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

import dpsel
from dpsel.sklearn import PrivateSelectKBest

table = pl.read_csv("sample_data/synthetic_raw.csv")
X, y = table.drop("y"), table["y"]
# The first useful result.
selection = dpsel.select(table, target="y", k=8, epsilon=20)
assert X[selection.selected_features].shape == (1000, 8)
assert selection.guarantee is not None
assert selection.guarantee.epsilon == 20

selector = PrivateSelectKBest(epsilon=20, k=8).fit(X, y)
scores = cross_val_score(Ridge(), selector.transform(X), y, cv=5)
assert scores.mean() > 0.5
