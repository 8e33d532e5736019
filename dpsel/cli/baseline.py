"""`dpsel baseline`."""

from typing import Annotated

import typer

from dpsel.cli import ledger_options, options
from dpsel.cli.releasing import print_cost, release
from dpsel.cli.terminal import TerminalReporter
from dpsel.core.guarantee import Neighbors
from dpsel.errors import UsageError
from dpsel.selection.baseline import Method
from dpsel.selection.record import OutputFormat

_BLOCKS_PANEL = "Two-stage and LASSO"

MethodOption = Annotated[
    Method, typer.Option("--method", help="Which method to run.", show_default=False)
]
OptionalEpsilon = Annotated[
    float | None,
    typer.Option("--epsilon", metavar="E", help="The privacy loss; needed by private methods."),
]
NoPrivacy = Annotated[
    bool,
    typer.Option("--no-privacy", help="Run two-stage without noise. sis and lasso never have any."),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        metavar="B",
        help="How many blocks of rows vote; must be given under add-remove.",
        rich_help_panel=_BLOCKS_PANEL,
        show_default="the square root of the number of rows",
    ),
]
Contiguous = Annotated[
    bool,
    typer.Option(
        "--contiguous",
        help="Cut blocks in the order of rows, as in the paper's experiment.",
        rich_help_panel=_BLOCKS_PANEL,
    ),
]
Penalty = Annotated[
    float,
    typer.Option(
        "--penalty",
        metavar="LAMBDA",
        help="The weight of the L1 norm in a LASSO.",
        rich_help_panel=_BLOCKS_PANEL,
    ),
]


def baseline(
    table: options.TableArgument,
    target: options.Target,
    k: options.K,
    method: MethodOption,
    epsilon: OptionalEpsilon = None,
    no_privacy: NoPrivacy = False,
    blocks: Blocks = None,
    contiguous: Contiguous = False,
    penalty: Penalty = 0.1,
    features: options.Features = [],  # noqa: B006
    exclude: options.Exclude = [],  # noqa: B006
    positive: options.Positive = None,
    bounds: options.BoundsFile = None,
    lower: options.Lower = None,
    upper: options.Upper = None,
    neighbors: options.NeighborsOption = Neighbors.ADD_REMOVE,
    seed: options.Seed = None,
    mechanism: options.MechanismName = "canonical-lipschitz",
    gamma: options.Gamma = None,
    sampler: options.SamplerOption = None,
    delta: options.Delta = None,
    ledger: ledger_options.Ledger = None,
    ledger_file: ledger_options.LedgerFileOption = None,
    run_id: ledger_options.RunId = None,
    require_ledger: ledger_options.RequireLedger = False,
    require_end_to_end: ledger_options.RequireEndToEnd = False,
    dry_run: ledger_options.DryRun = False,
    input_format: options.InputFormatOption = None,
    separator: options.Separator = None,
    threads: options.Threads = None,
    output: options.OutputPlace = "-",
    output_format: options.OutputFormatOption = OutputFormat.JSON,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """Select features by the methods that `dpsel select` is compared with.

    two-stage: blocks of rows vote for features by a LASSO each, and a private top-k chooses among
    the votes (Kifer et al.). dpkendall: k private rounds (Dick et al.). sis and lasso: the largest
    scores and coefficients, without any privacy. A table that does not
    fit in memory is kept in a temporary file.

    Example: dpsel baseline data.parquet --target y --k 5 --epsilon 2 --method two-stage --blocks 10
    """
    from dpsel.budget.place import REQUIRE_END_TO_END, REQUIRE_LEDGER, Demands, is_demanded
    from dpsel.selection.baseline import BaselineRequest, baseline_order, run_baseline
    from dpsel.selection.request import make_request
    from dpsel.system.process import take_interrupts_back

    take_interrupts_back()
    demands = Demands(
        is_demanded(require_ledger, REQUIRE_LEDGER),
        is_demanded(require_end_to_end, REQUIRE_END_TO_END),
    )
    private = method in (Method.DPKENDALL, Method.TWO_STAGE) and not no_privacy
    if private and epsilon is None:
        raise UsageError("--epsilon is needed; or run two-stage with --no-privacy")
    if method is Method.DPKENDALL and no_privacy:
        raise UsageError("dpkendall is private; --no-privacy goes with two-stage")
    own_options = (gamma, sampler, delta) != (None, None, None)
    if method is Method.DPKENDALL and (own_options or mechanism != "canonical-lipschitz"):
        raise UsageError(
            "dpkendall has a mechanism of its own; leave out --mechanism and its options"
        )
    common = make_request(
        target=target,
        k=k,
        epsilon=1.0 if epsilon is None else epsilon,
        features=features,
        exclude=exclude,
        positive=positive,
        bounds=bounds,
        lower=lower,
        upper=upper,
        score="kendall" if method is Method.DPKENDALL else "dot",
        mechanism=mechanism,
        gamma=gamma,
        sampler=sampler,
        delta=delta,
        neighbors=neighbors,
        person=None,
        rows_per_person=None,
        input_format=input_format,
        separator=separator,
        seed=seed,
        threads=threads,
        demands=demands,
    )
    plan = BaselineRequest(common, method, private, blocks, contiguous, penalty)
    order = baseline_order(table, plan)
    if dry_run:
        print_cost(order, ledger=ledger, ledger_file=ledger_file, run_id=run_id, quiet=quiet)
        return
    reporter = TerminalReporter(quiet=quiet, bar=not no_progress)
    release(
        lambda charge: run_baseline(table, plan, reporter, charge),
        order,
        reporter,
        table=table,
        ledger=ledger,
        ledger_file=ledger_file,
        run_id=run_id,
        output=output,
        output_format=output_format,
        force=force,
    )
