"""Import polars, and keep Python's handling of Ctrl-C.

Polars installs its own handler for Ctrl-C when it is imported. A command that waits for input would
then ignore Ctrl-C, so Python's handler is restored here. Other modules import polars from here.
"""

import polars as pl

from dpsel.system.process import keep_interrupts

keep_interrupts()

__all__ = ["pl"]
