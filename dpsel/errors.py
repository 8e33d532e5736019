"""The errors that dpsel raises, each with its exit code on the command line.

A message says what was expected and what was given, in one or two plain lines. It may
name files, columns and options, which are public, but it never quotes a cell.
"""


class DpselError(Exception):
    """An error that the user can fix; the command exits with `exit_code`."""

    exit_code = 2


class UsageError(DpselError):
    """An argument or option has an invalid value."""

    exit_code = 2


class InputError(DpselError):
    """An input file or table is missing, unreadable or not as expected."""

    exit_code = 3


class BudgetError(DpselError):
    """The ledger does not have enough budget left."""

    exit_code = 4


class OutputError(DpselError):
    """The result cannot be written to the requested place."""

    exit_code = 5


class ClusterError(DpselError):
    """A cluster cannot be reached or was lost, or its workers cannot do the work."""

    exit_code = 6
