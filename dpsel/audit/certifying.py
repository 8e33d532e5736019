"""From draws to the certificate of a mechanism or a command."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpsel import __version__
from dpsel.audit.plan import Sampling
from dpsel.core.audit.certificate import Certificate, loss_certificate
from dpsel.core.audit.checks import Check, check_sets
from dpsel.core.audit.exact_law import Law
from dpsel.core.audit.findings import found_at
from dpsel.core.audit.intervals import visible_loss
from dpsel.core.audit.tally import Tally
from dpsel.core.audit.targets import MechanismTarget


@dataclass(frozen=True)
class Drawn:
    """One pair of inputs: as they are printed, their exact laws, and what was drawn from them."""

    name: str
    inputs: Mapping[str, Any]
    laws: tuple[Law, Law] | None
    tally: Tally


def certified(
    about: Mapping[str, Any],
    target: MechanismTarget,
    d: int,
    sampling: Sampling,
    drawn: Sequence[Drawn],
    checks: Sequence[Check],
    libraries: Sequence[str],
) -> Certificate:
    """Return what the draws from all pairs show."""
    possible, alpha = math.comb(d, target.k), sampling.alpha / len(drawn)
    findings = [
        found_at(
            pair.name, pair.tally, pair.laws, possible=possible, delta=target.delta, alpha=alpha
        )
        for pair in drawn
    ]
    outcomes = [outcome for pair in drawn for outcome in pair.tally.outcomes]
    return loss_certificate(
        {
            **about,
            "mechanism": {"name": target.name, **target.parameters},
            "d": d,
            "k": target.k,
            "epsilon": target.epsilon,
            "delta": target.delta,
        },
        [(pair.inputs, finding) for pair, finding in zip(drawn, findings, strict=True)],
        [*checks, check_sets(outcomes, d, target.k)],
        samples=sampling.samples,
        seeded=sampling.seed is not None,
        epsilon=target.epsilon,
        confidence=sampling.confidence,
        visible=visible_loss(sampling.samples, possible, target.delta, alpha),
        version=__version__,
        libraries=libraries,
    )
