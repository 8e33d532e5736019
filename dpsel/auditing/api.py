"""The Python function `dpsel.audit`, and what it shares with the command."""

import warnings
from collections.abc import Sequence

from dpsel.auditing.certificate import Certificate
from dpsel.auditing.mechanism import audit_mechanism
from dpsel.auditing.options import Audited, Claim, Effort, Inputs
from dpsel.auditing.request import (
    AuditRequest,
    MechanismRequest,
    ScoreRequest,
    make_audit_request,
)
from dpsel.auditing.score import audit_score
from dpsel.options import Dataclass
from dpsel.python import Warner, python_function, record_of
from dpsel.reporter import Reporter

_AUDIT: tuple[type[Dataclass], ...] = (Audited, Claim, Inputs, Effort)


@python_function(*_AUDIT)
def audit(
    *,
    mechanism: str | None = None,
    score: str | None = None,
    command: bool = False,
    gamma: float | None = None,
    sampler: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbors: str | None = None,
    rows_per_person: int | None = None,
    d: int | None = None,
    k: int | None = None,
    scores: str | Sequence[float] | None = None,
    change: str | Sequence[float] | None = None,
    worst_case: bool = False,
    tables: int | str | None = None,
    samples: float | str | None = None,
    confidence: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
) -> Certificate:
    """Test a guarantee from the outside: draw many times from neighboring inputs, and compare.

    A verdict other than `pass` does not raise an exception: look at `verdict` and `explanation`. A
    fail is certain up to the requested confidence; a pass is no proof.

    Privacy:
        Guarantee: none is needed; it reads no data, and its inputs are made up.
        Tested by: tests/auditing/test_mechanisms.py, tests/auditing/test_command.py

    Args:
        mechanism: A mechanism of `select`, or `printed-lipschitz`, a known bad example.
        score: A score.
        command: Audit the command `dpsel select`, including ledger and output; `score` and
            `mechanism` may choose its method.
        gamma: A parameter of the Lipschitz mechanisms.
        sampler: A parameter of the Lipschitz mechanisms.
        epsilon: The claimed privacy loss; 1 if not given.
        delta: The claimed delta, for peeling and oneshot-laplace.
        neighbors: The neighboring relation that `score` or `command` is audited for.
        rows_per_person: Audit `score` or `command` for persons with this many rows.
        d: The number of features.
        k: How many features are selected.
        scores: Made-up scores in units of their sensitivity.
        change: What the neighbor adds to each score, between -1 and 1.
        worst_case: Search for the scores with the largest loss under the exact law.
        tables: How many pairs of tables to try with `score`.
        samples: Draws from each input.
        confidence: The joint confidence of all bounds.
        seed: Makes the audit reproducible, with seeded draws.
        threads: How many processes draw; all cores if not given.

    Raises:
        UsageError: If an argument is invalid.
    """
    given = locals()
    request = make_audit_request(
        record_of(Audited, given),
        record_of(Claim, given),
        record_of(Inputs, given),
        record_of(Effort, given),
    )
    return carry_out_audit(request, Warner(*_AUDIT))


def run_in_process(words: Sequence[str]) -> int:
    """Run the command line in this process, and restore its warning filters."""
    # The command line is what is audited; nothing else in this folder imports it.
    from dpsel.cli.app import run

    with warnings.catch_warnings():
        return run(words)


def carry_out_audit(request: AuditRequest, reporter: Reporter) -> Certificate:
    """Carry out an audit of a mechanism, a score or a whole command."""
    if isinstance(request, MechanismRequest):
        return audit_mechanism(request, reporter)
    if isinstance(request, ScoreRequest):
        return audit_score(request, reporter)
    from dpsel.auditing.command import audit_command

    return audit_command(request, reporter, run_in_process)
