"""Import polars, and keep it from handling Ctrl-C and from writing rows to disk.

Polars installs its own handler for Ctrl-C when it is imported. A command that waits for input would
then ignore Ctrl-C, so Python's handler is restored here. From version 2 on, polars also writes rows
to named files in a folder of its own when memory runs short; a killed process leaves them there.
Its budget of memory is therefore set to more than there is, whatever the environment says. What
does not fit in memory is kept in a file without a name: see `dpsel.tables.spill`. Other modules
import polars from here.
"""

import json

import polars as pl

from dpsel.system.process import keep_interrupts

# The smaller budget holds: a number of megabytes, or a fraction of the machine's memory.
_BUDGETS = {"POLARS_OOC_MEMORY_BUDGET_MB": None, "POLARS_OOC_MEMORY_BUDGET_FRACTION": "1000000"}

keep_interrupts()
# Polars read its settings when it was imported; this makes it read them again.
pl.Config.load(json.dumps({"environment": _BUDGETS}))

__all__ = ["pl"]
