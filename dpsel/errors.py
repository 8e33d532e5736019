"""What can go wrong, and the exit code each kind has at the command line.

A message says what was expected and what was given, in one or two plain lines. It may
name files, columns and options, which are public, and never quotes a cell.
"""


class DpselError(Exception):
    """Anything the user can mend; `exit_code` is what the command ends with."""

    exit_code = 2


class UsageError(DpselError):
    """An argument or option has a value that does not fit."""

    exit_code = 2


class InputError(DpselError):
    """A table or a bounds file is missing, unreadable or not what was promised."""

    exit_code = 3


class BudgetError(DpselError):
    """The ledger has not enough left for what was asked."""

    exit_code = 4


class OutputError(DpselError):
    """The result cannot be written where it was asked for."""

    exit_code = 5


class ClusterError(DpselError):
    """A cluster cannot be reached, or was lost, or its workers cannot do the work."""

    exit_code = 6
