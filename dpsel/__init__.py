"""Differentially private feature selection.

The house, from the ground up. A folder imports only those above it in this list, and the files
beside this one:

    core            from raw cells to what may be published: the private core, to be read whole
    system          the machine: files, signals, threads, processes
    tables          turns files and frames into batches for the core; releases nothing
    dictionary      public facts about columns
    budget          ledgers, which are charged before a row is read; no arrays
    cards           a page about a release; no arrays
    cluster         reads and adds up rows on other machines
    selection       `select` and `baseline`: the two commands that release
    sklearn         `select` as an estimator
    preprocessing   `preprocess`: bounded tables
    evaluation      `evaluate`: methods tried on the holder's own data
    planning        `plan`: what an epsilon will buy
    auditing        `audit`: guarantees tested from outside
    paper           `reproduce`: the paper's experiments
    cli             one thin file per command

`dpsel/core/__init__.py` has the words and the order in which to read; CONTRIBUTING.md follows one
cell through the house.
"""

import typing as _typing

__version__ = "0.1.0"

if _typing.TYPE_CHECKING:
    from dpsel.auditing.api import audit
    from dpsel.auditing.certificate import Certificate
    from dpsel.budget.api import Ledger
    from dpsel.cards.api import card
    from dpsel.core.release import top_k
    from dpsel.core.selection import Selection
    from dpsel.errors import (
        BudgetError,
        ClusterError,
        DpselError,
        InputError,
        OutputError,
        UsageError,
    )
    from dpsel.evaluation.api import evaluate
    from dpsel.evaluation.run import Evaluation
    from dpsel.planning.api import plan
    from dpsel.planning.plan import Plan
    from dpsel.preprocessing.api import Preprocessed, preprocess, provenance
    from dpsel.selection.api import baseline, select

__all__ = [
    "BudgetError",
    "Certificate",
    "ClusterError",
    "DpselError",
    "Evaluation",
    "InputError",
    "Ledger",
    "OutputError",
    "Plan",
    "Preprocessed",
    "Selection",
    "UsageError",
    "__version__",
    "audit",
    "baseline",
    "card",
    "evaluate",
    "plan",
    "preprocess",
    "provenance",
    "select",
    "top_k",
]

_HOMES = {
    "dpsel.auditing.api": ("audit",),
    "dpsel.auditing.certificate": ("Certificate",),
    "dpsel.budget.api": ("Ledger",),
    "dpsel.cards.api": ("card",),
    "dpsel.core.release": ("top_k",),
    "dpsel.core.selection": ("Selection",),
    "dpsel.errors": (
        *("BudgetError", "ClusterError", "DpselError", "InputError", "OutputError", "UsageError"),
    ),
    "dpsel.evaluation.api": ("evaluate",),
    "dpsel.evaluation.run": ("Evaluation",),
    "dpsel.planning.api": ("plan",),
    "dpsel.planning.plan": ("Plan",),
    "dpsel.preprocessing.api": ("Preprocessed", "preprocess", "provenance"),
    "dpsel.selection.api": ("baseline", "select"),
}


if not _typing.TYPE_CHECKING:  # With `__getattr__`, a type checker would accept any name.

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that `dpsel --help` stays fast."""
        for home, names in _HOMES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(home), name)
        raise AttributeError(f"module 'dpsel' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return the public names only."""
    return __all__
