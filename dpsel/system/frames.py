"""Polars, loaded so that Ctrl-C stays ours.

When it is imported it takes Ctrl-C for itself, which leaves a command that waits for its input deaf
to it: so it has to give it back.
"""

import polars as pl

from dpsel.system.process import keep_interrupts

keep_interrupts()

__all__ = ["pl"]
