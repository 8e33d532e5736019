"""`PrivateSelectKBest`: `dpsel.select` as a scikit-learn estimator."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from dpsel.budget.place import ledger_from_environment
from dpsel.core.arrays import BoolArray
from dpsel.core.guarantee import Guarantee
from dpsel.core.selection import Selection, selection_html
from dpsel.errors import UsageError
from dpsel.python import Warner
from dpsel.selection.api import select
from dpsel.sklearn.tally import Tally
from dpsel.sklearn.training_table import (
    arrow_table,
    as_table,
    column_names,
    is_frame,
    is_pandas,
    rows_as_array,
    training_table,
)
from dpsel.system.frames import pl
from dpsel.tables.column_names import refuse_repeated


class PrivateSelectKBest(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select the features that matter most for y, with differential privacy.

    Every `fit` is a new draw and costs epsilon again. Cross-validation fits clones, so it costs
    epsilon for every one of them. With a `ledger`, each fit is charged or refused. Without one, the
    second fit of an estimator or its clones warns. See docs/tutorials/sklearn.md.

    Privacy:
        Domain: any X and y; a cell that is not a number counts as a word or as missing, and never
            fails a fit. Names, types and shapes are public, and so are all parameters.
        Neighbors: `neighbors`, for one row of X and y, or for one `person` with all their rows.
        Sensitivity: that of the score, times `rows_per_person`.
        Guarantee: that of `dpsel.select`, for `selection_` and everything computed from it, for
            one fit. `transform` returns the rows themselves, which are private.
        Assumes: classes and bounds that were not read off the data; no observer of the run time.
        Tested by: tests/scikit_learn/test_selector.py

    Args:
        epsilon: The privacy loss of one fit. It must be given.
        k: How many features to select.
        up_to: Instead of `k`: as many features as epsilon can pay for, but at most this many.
        rows: With `up_to`: the public number of rows, approximately.
        features: Names or globs of the columns to choose from; all if empty. The columns of an
            array are called x0, x1, ...
        exclude: Names or globs of columns to leave out.
        positive: The label of y that counts as 1; any other counts as -1. Never searched for in y.
        classes: The labels of a y with three classes or more.
        share: With `positive`: the public share of rows with that label, approximately.
        target_center: For a numeric y: a public number that about half of the rows exceed.
        bounds: Public bounds, as for `dpsel.select`; y goes by its own name, or `y` if it has none.
        lower: The public lower bound of every column and of y, together with `upper`.
        upper: The public upper bound of every column and of y.
        dictionary: Public facts about the columns: a TOML file, or a mapping of that shape.
        method: `stump`, which needs no bounds, `dp-sis`, `kendall` or `dpkendall`.
        score_func: The name of the score, if it is not the method's. `dpsel.select` calls this
            `score`, which in scikit-learn is the name of a method.
        row_ranks: Score each number by its rank among the features of its row.
        mechanism: The name of the mechanism, if it is not the method's.
        gamma: For the Lipschitz mechanisms: the weight of the worst included score, 0 to 1.
        sampler: For the Lipschitz mechanisms: `lazy` or `direct`.
        delta: For peeling and oneshot-laplace: the delta of an (epsilon, delta) guarantee.
        neighbors: `add-remove` or `replace-one`.
        person: The column of X that identifies persons, to protect persons instead of rows; for a
            pandas frame it may be a level of the index. It is never selected.
        rows_per_person: At most this many rows of a person count; 1 if not given.
        seed: Makes fits reproducible, for tests; nothing is then guaranteed. It is not called
            `random_state`, which many people set by habit.
        threads: How many threads read and compute; all cores if not given.
        ledger: The ledger that every fit is charged to; if not given, the one named in the
            environment variable DPSEL_LEDGER.
        ledger_file: The file of the ledgers, if it is not in its usual place.
        run_id: The name of one fit. The ledger charges it once, and every later fit returns the
            same selection without reading X and y.
        note: A line to store in the ledger with each charge.
        date: A day to state in the record, `YYYY-MM-DD` or `today`.
        require_ledger: Refuse fits that no ledger is charged for.
        require_end_to_end: Refuse arguments whose guarantee would cover the selection only.

    Attributes:
        selection_: The `dpsel.Selection` of the last fit, which may be published.
        guarantee_: Its guarantee; None with a `seed`.
        n_features_in_: How many columns X had.
        feature_names_in_: Their names, if X had names and all are strings.
    """

    selection_: Selection
    guarantee_: Guarantee | None
    n_features_in_: int
    _tally: Tally
    _mask: BoolArray
    _container: str

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        k: int | None = None,
        up_to: int | None = None,
        rows: int | None = None,
        features: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        positive: str | None = None,
        classes: str | Sequence[str] | None = None,
        share: float | None = None,
        target_center: float | None = None,
        bounds: str | Path | Mapping[Any, Any] | None = None,
        lower: float | None = None,
        upper: float | None = None,
        dictionary: str | Path | Mapping[str, Any] | None = None,
        method: str = "stump",
        score_func: str | None = None,
        row_ranks: bool = False,
        mechanism: str | None = None,
        gamma: float | None = None,
        sampler: str | None = None,
        delta: float | None = None,
        neighbors: str = "add-remove",
        person: str | None = None,
        rows_per_person: int | None = None,
        seed: int | None = None,
        threads: int | None = None,
        ledger: str | None = None,
        ledger_file: str | Path | None = None,
        run_id: str | None = None,
        note: str | None = None,
        date: str | None = None,
        require_ledger: bool = False,
        require_end_to_end: bool = False,
    ) -> None:
        """Keep the parameters as they are; `fit` checks them."""
        self.epsilon = epsilon
        self.k = k
        self.up_to = up_to
        self.rows = rows
        self.features = features
        self.exclude = exclude
        self.positive = positive
        self.classes = classes
        self.share = share
        self.target_center = target_center
        self.bounds = bounds
        self.lower = lower
        self.upper = upper
        self.dictionary = dictionary
        self.method = method
        self.score_func = score_func
        self.row_ranks = row_ranks
        self.mechanism = mechanism
        self.gamma = gamma
        self.sampler = sampler
        self.delta = delta
        self.neighbors = neighbors
        self.person = person
        self.rows_per_person = rows_per_person
        self.seed = seed
        self.threads = threads
        self.ledger = ledger
        self.ledger_file = ledger_file
        self.run_id = run_id
        self.note = note
        self.date = date
        self.require_ledger = require_ledger
        self.require_end_to_end = require_end_to_end

    def fit(self, X: Any, y: Any = None) -> "PrivateSelectKBest":
        """Draw one selection, at the cost of epsilon.

        Args:
            X: A frame of pandas, polars or pyarrow, or an array. Sparse matrices are refused; one
                that fits in memory as a dense array can be given as `X.toarray()`.
            y: Numbers, booleans, or labels if `positive` or `classes` names them.

        Raises:
            DpselError: As `dpsel.select` does.
            ValueError: If the shapes of X and y do not fit; never because of a cell.
            TypeError: If X is sparse.
        """
        if self.epsilon is None:
            raise UsageError(
                "epsilon is missing: say what privacy loss a fit may cost, for example "
                "PrivateSelectKBest(epsilon=1.0, k=5)"
            )
        X = self._checked(X, y)
        labels = self.positive is not None or self.classes is not None
        table, target = training_table(X, y, labels=labels, person=self.person)
        given = self.get_params(deep=False)
        selection = select(table, target=target, score=given.pop("score_func"), **given)
        mask = _mask(selection, column_names(X))
        self._count(selection)
        self.selection_, self.guarantee_ = selection, selection.guarantee
        self._mask = mask
        return self

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, in the order of X. The rows are private.

        Args:
            X: A frame or an array with the columns that the selector was fitted on.
        """
        X, wanted = as_table(X), self._output()
        if wanted == "default" or not is_frame(X) or is_pandas(X):
            return super().transform(X)
        # Otherwise scikit-learn would first make one array of all columns, which loses their types.
        check_is_fitted(self, "selection_")
        validate_data(self, X, reset=False, skip_check_array=True)
        table = arrow_table(X).select(self.get_support(indices=True).tolist())
        return pl.from_arrow(table) if wanted == "polars" else table.to_pandas()

    def set_output(self, *, transform: str | None = None) -> "PrivateSelectKBest":
        """Choose what `transform` returns: `default` for arrays, `pandas` or `polars` for frames.

        Args:
            transform: The container; None leaves it as it is.
        """
        super().set_output(transform=transform)
        if transform is not None:
            self._container = transform
        return self

    def _output(self) -> str:
        """Return the container for `transform`, by `set_output` or scikit-learn's configuration."""
        return str(getattr(self, "_container", get_config()["transform_output"]))

    def _checked(self, X: Any, y: Any) -> Any:
        """Return X as a frame or an array of two dimensions; refuse shapes that do not fit.

        A table without rows is not refused: an error would distinguish it from one with a row.
        """
        if isinstance(X, list | tuple):
            # A list has no type, and its cells must not decide on one.
            X = rows_as_array(X)
        X = as_table(X)
        if not is_frame(X):
            X = check_array(
                X, dtype=None, ensure_all_finite=False, ensure_min_samples=0, input_name="X"
            )
        refuse_repeated(column_names(X), "column", "X")
        validate_data(self, X, y, skip_check_array=True)
        return X

    def _count(self, selection: Selection) -> None:
        """Count a draw that no ledger was charged for, and warn what all of them cost together."""
        guarantee = selection.guarantee
        if self.run_id is not None:
            if self._shared_tally().seen(self.run_id):
                Warner().note(
                    f"run id '{self.run_id}': this fit has not looked at X and y; it returns the "
                    "selection of the first one, whatever its rows were"
                )
        elif guarantee is not None and self.ledger is None and ledger_from_environment() is None:
            spent = self._shared_tally().add(guarantee.epsilon, guarantee.delta)
            if spent is not None:
                Warner().note(
                    f"this estimator and its clones were fitted {spent.count} times without a "
                    f"ledger: together that costs {spent}, and every further fit adds to it. "
                    "Select once before cross-validating a model, or name a ledger."
                )

    def _shared_tally(self) -> Tally:
        """Return the tally of this estimator and its clones, made at the first fit or clone.

        `setdefault` is atomic, so threads that share an estimator get the same tally.
        """
        if "_tally" not in self.__dict__:
            self.__dict__.setdefault("_tally", Tally())
        return self._tally

    def _get_support_mask(self) -> BoolArray:
        """Return which columns are selected."""
        check_is_fitted(self, "selection_")
        return self._mask

    def __sklearn_clone__(self) -> "PrivateSelectKBest":
        """Return an unfitted copy whose fits are counted together with those of this one."""
        copy: PrivateSelectKBest = super().__sklearn_clone__()
        copy._tally = self._shared_tally()
        if hasattr(self, "_container"):
            copy._container = self._container
        return copy

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what is accepted: cells of any kind; y is required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.non_deterministic = self.seed is None
        return tags

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Return a function that makes HTML for notebooks: the guarantee, then the parameters."""
        parameters: Callable[[], str] = super()._repr_html_
        return lambda: self._summary() + parameters()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return the same HTML for notebooks that call this method."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._summary() + bundle["text/html"]
        return bundle

    def _summary(self) -> str:
        """Return what a fit has released as HTML; an empty text before a fit."""
        if not hasattr(self, "selection_"):
            return ""
        spent = self._shared_tally().spent()
        stamp = f"fitted {spent.count} times without a ledger, clones included: together {spent}"
        return selection_html(self.selection_, [stamp] if spent.count > 1 else [])


def _mask(selection: Selection, names: Sequence[str]) -> BoolArray:
    """Return which columns are selected, alone or as part of a group."""
    places = {name: place for place, name in enumerate(names)}
    columns = [
        column
        for name in map(str, selection.selected_features)
        for column in selection.groups.get(name, (name,))
    ]
    if not all(column in places for column in columns):
        raise UsageError("run_id stands for a selection from other columns than those of X")
    mask = np.zeros(len(names), dtype=np.bool_)
    mask[[places[column] for column in columns]] = True
    return mask
