"""The methods an evaluation compares, by name."""

from dataclasses import dataclass
from typing import Any

from dpsel.core.choices import Method, Scale
from dpsel.core.errors import UsageError
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.scores.registry import find_score

DP_SIS = "dp-sis"
_DP_SIS_IS = ("dot", "canonical-lipschitz")
_EXACT = {"sis", "lasso"}


@dataclass(frozen=True)
class EvaluatedMethod:
    """A way to select features: what ranks them, how they are drawn, and on which scaling.

    `name` is how the user wrote it; `scale` is None for the scaling of the whole evaluation.
    """

    name: str
    ranking: str
    """A score, or one of the methods two-stage, sis, lasso and dpkendall."""
    mechanism: str | None
    """None where there is no mechanism to choose."""
    scale: Scale | None

    @property
    def private(self) -> bool:
        """Return whether one selection by this method would be private."""
        return self.ranking not in _EXACT

    def parameters(self, delta: float | None) -> dict[str, Any]:
        """Return the parameters of the mechanism; those without a delta do not get one."""
        assert self.mechanism is not None
        mechanism = find_mechanism(self.mechanism)
        given = {"delta": delta if "delta" in mechanism.defaults else None}
        return mechanism.parameters(self.mechanism, given)


def parse_methods(names: list[str]) -> tuple[EvaluatedMethod, ...]:
    """Return the methods in lists such as `dp-sis,kendall/peeling,two-stage@robust`, each once."""
    parts = [part.strip() for name in names for part in name.split(",")]
    return tuple(_method(part) for part in dict.fromkeys(parts))


def _method(name: str) -> EvaluatedMethod:
    """Return one method: SCORE/MECHANISM, two-stage[/MECHANISM], dp-sis, sis, lasso, dpkendall."""
    what, at, scale_name = name.partition("@")
    scale = _scale(scale_name, name) if at else None
    ranking, slash, mechanism = what.partition("/")
    if ranking == DP_SIS and not slash:
        return EvaluatedMethod(name, *_DP_SIS_IS, scale)
    if ranking == Method.TWO_STAGE:
        mechanism = mechanism if slash else "canonical-lipschitz"
    elif ranking in (*_EXACT, DP_SIS, Method.DPKENDALL):
        if slash:
            raise UsageError(f"{ranking} has no mechanism to choose, got {name}")
        return EvaluatedMethod(name, ranking, None, scale)
    elif not slash:
        raise UsageError(
            f"a method is SCORE/MECHANISM, {DP_SIS}, {', '.join(Method)}, "
            f"with @SCALE behind it or not; got '{name}'"
        )
    else:
        find_score(ranking)
    find_mechanism(mechanism)
    return EvaluatedMethod(name, ranking, mechanism, scale)


def _scale(text: str, name: str) -> Scale:
    """Return a scaling by its name."""
    if text not in tuple(Scale):
        raise UsageError(f"a scale is one of {', '.join(Scale)}, got {name}")
    return Scale(text)
