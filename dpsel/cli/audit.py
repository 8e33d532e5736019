"""`dpsel audit`."""

from typing import Any

import typer

from dpsel.cli import audit_options as own
from dpsel.cli import shared_options as options
from dpsel.cli.terminal import TerminalReporter, say

NOT_PASSED = 1
"""The exit code of an audit that ran to its end and did not pass."""


def audit(
    mechanism: own.Mechanism = None,
    score: own.Score = None,
    command: own.Command = False,
    gamma: own.Gamma = None,
    sampler: own.SamplerOption = None,
    epsilon: own.Epsilon = None,
    delta: own.Delta = None,
    neighbors: own.NeighborsOption = None,
    rows_per_person: own.RowsPerPerson = None,
    d: own.D = None,
    k: own.K = None,
    scores: own.ScoresOption = None,
    change: own.Change = None,
    worst_case: own.WorstCase = False,
    tables: own.TablesOption = None,
    samples: own.Samples = None,
    confidence: own.Confidence = None,
    seed: own.Seed = None,
    threads: own.Threads = None,
    output: options.OutputPlace = "-",
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """Test a guarantee from outside: draw many times from neighboring inputs, and compare.

    Prints a verdict and a JSON certificate: bounds of the privacy loss that shows, and the exact
    loss where the law is known. A fail is certain up to the confidence asked for; a pass is no
    proof. Ends with 0 if the audit passed, and with 1 if it did not. It reads no data of yours.

    Example: dpsel audit --mechanism canonical-lipschitz --epsilon 1 --d 6 --k 3 --samples 1e6
    """
    from dpsel.audit.request import make_audit_request
    from dpsel.system.output import Output
    from dpsel.system.process import take_interrupts_back
    from dpsel.system.text import json_text

    take_interrupts_back()
    plan = make_audit_request(
        command=command,
        worst_case=worst_case,
        seed=seed,
        given={
            "mechanism": mechanism,
            "score": score,
            "gamma": gamma,
            "sampler": sampler,
            "epsilon": epsilon,
            "delta": delta,
            "neighbors": neighbors,
            "rows-per-person": rows_per_person,
            "d": d,
            "k": k,
            "scores": scores,
            "change": change,
            "tables": tables,
            "samples": samples,
            "confidence": confidence,
            "threads": threads,
        },
    )
    with Output(output, force=force) as place:
        with TerminalReporter(quiet=quiet, bar=not no_progress, work="auditing") as reporter:
            certificate = _audited(plan, reporter)
        place.write(json_text(certificate.to_dict()).encode())
    if not quiet:
        say(str(certificate.verdict), certificate.explanation)
    if certificate.verdict != "pass":
        raise typer.Exit(NOT_PASSED)


def _audited(plan: Any, reporter: TerminalReporter) -> Any:
    """Carry out a plan of any kind."""
    from dpsel.audit.request import CommandRequest, ScoreRequest

    if isinstance(plan, ScoreRequest):
        from dpsel.audit.score import audit_score

        return audit_score(plan, reporter)
    if isinstance(plan, CommandRequest):
        from dpsel.audit.command import audit_command
        from dpsel.cli.app import run

        return audit_command(plan, reporter, run)
    from dpsel.audit.mechanism import audit_mechanism

    return audit_mechanism(plan, reporter)
