"""`dpsel select`."""

from dpsel.cli import cluster_options, ledger_options, options
from dpsel.cli.releasing import print_cost, release
from dpsel.cli.terminal import TerminalReporter
from dpsel.core.guarantee import Neighbors
from dpsel.selection.record import OutputFormat


def select(
    table: options.TableArgument,
    target: options.Target,
    k: options.K,
    epsilon: options.Epsilon,
    features: options.Features = [],  # noqa: B006
    exclude: options.Exclude = [],  # noqa: B006
    positive: options.Positive = None,
    bounds: options.BoundsFile = None,
    lower: options.Lower = None,
    upper: options.Upper = None,
    neighbors: options.NeighborsOption = Neighbors.ADD_REMOVE,
    person: options.Person = None,
    rows_per_person: options.RowsPerPerson = None,
    seed: options.Seed = None,
    score: options.ScoreName = "dot",
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
    cluster: cluster_options.ClusterOption = None,
    workers: cluster_options.ClusterWorkers = None,
    output: options.OutputPlace = "-",
    output_format: options.OutputFormatOption = OutputFormat.JSON,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """Select the K features that matter most for a target, with differential privacy.

    Prints a JSON record that holds only what may be published: the selected columns, the method
    and the guarantee. All else goes to stderr, which is for the data's holder.

    Example: dpsel select data.parquet --target y --k 5 --epsilon 2

    On a cluster: dpsel select 'data/*.parquet' --target y --k 5 --epsilon 2 --cluster
    tls://head:8786
    """
    from dpsel.budget.place import (
        REQUIRE_END_TO_END,
        REQUIRE_LEDGER,
        is_demanded,
        ledger_from_environment,
    )
    from dpsel.system.process import take_interrupts_back
    from dpsel.tables.wide_parquet import begin_reading

    take_interrupts_back()
    demanded = (
        is_demanded(require_ledger, REQUIRE_LEDGER),
        is_demanded(require_end_to_end, REQUIRE_END_TO_END),
    )
    if not dry_run and cluster is None:
        # No row is read before the charge, or before a demand is known to be met.
        charged = ledger is not None or ledger_from_environment() is not None
        begin_reading(table, rows_too=not charged and not any(demanded))
    from dpsel.budget.place import Demands
    from dpsel.cluster.place import plan_cluster
    from dpsel.selection.request import make_request, select_order
    from dpsel.selection.run import run_select_on

    demands = Demands(*demanded)
    plan = make_request(
        target=target,
        k=k,
        epsilon=epsilon,
        features=features,
        exclude=exclude,
        positive=positive,
        bounds=bounds,
        lower=lower,
        upper=upper,
        score=score,
        mechanism=mechanism,
        gamma=gamma,
        sampler=sampler,
        delta=delta,
        neighbors=neighbors,
        person=person,
        rows_per_person=rows_per_person,
        input_format=input_format,
        separator=separator,
        seed=seed,
        threads=threads,
        demands=demands,
    )
    place = plan_cluster(cluster, workers)
    order = select_order(table, plan)
    if dry_run:
        print_cost(order, ledger=ledger, ledger_file=ledger_file, run_id=run_id, quiet=quiet)
        return
    reporter = TerminalReporter(quiet=quiet, bar=not no_progress)
    release(
        lambda charge: run_select_on(place, table, plan, reporter, charge),
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
