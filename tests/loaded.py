"""What the processes of a pool have loaded, told by themselves.

    python -m tests.loaded [lassos]

Prints a line of JSON: for each of a few tasks, whether its process has scikit-learn.
"""

import json
import sys

from dpsel.selection.lasso import SOLVER
from dpsel.system.workers import run_tasks

_TASKS = {str(number): number for number in range(4)}


def has_sklearn(state: None, task: int) -> bool:
    """Return whether this process has loaded scikit-learn."""
    return "sklearn" in sys.modules


def main() -> None:
    """Ask the processes of a pool."""
    preload = SOLVER if sys.argv[1:] == ["lassos"] else ()
    found = dict(run_tasks(has_sklearn, None, _TASKS, workers=2, preload=preload))
    sys.stdout.write(json.dumps([found[key] for key in _TASKS]))


if __name__ == "__main__":
    main()
