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


class ReaderGoneError(OutputError):
    """Whoever reads standard output has closed the pipe, as `head` does when it has enough.

    The command line ends without a message, with the exit code that a shell shows for a program
    ended by SIGPIPE. Where something was spent, this becomes an OutputError, which is shown.
    """

    exit_code = 141


class ClusterError(DpselError):
    """A cluster cannot be reached or was lost, or its workers cannot do the work."""

    exit_code = 6
