"""The ways to run the command, as in tests/cli."""

from tests.cli.conftest import dpsel, dpsel_process

__all__ = ["dpsel", "dpsel_process"]
