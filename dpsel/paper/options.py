"""The options that all experiments share. Imports nothing heavy: `--help` is instant."""

from pathlib import Path

from dpsel.cluster.place import Place
from dpsel.evaluation.options import ResultsWriting, Sweeping
from dpsel.options import option, same_as
from dpsel.records import frozen


@frozen(kw_only=True)
class Experimenting(Place, Sweeping):
    """Where experiments are run and written, and with which seed."""

    output: Path = option(
        "--output FOLDER", "Where results and figures are written.", Path("results")
    )
    force: bool = same_as(ResultsWriting, "force")
