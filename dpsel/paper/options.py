"""The options that all experiments share. It imports nothing heavy, so that `--help` is instant."""

from pathlib import Path

from dpsel.cluster.place import Place
from dpsel.evaluation.options import ResultsWriting, Sweeping
from dpsel.options import option, same_as
from dpsel.records import frozen


@frozen(kw_only=True)
class Experimenting(Place, Sweeping):
    """Where experiments are run, where their results are written, and with which seed."""

    output: Path = option("--output FOLDER", "Where to write results and figures.", Path("results"))
    force: bool = same_as(ResultsWriting, "force")
