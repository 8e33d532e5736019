"""The request of `plan`: the guessed table and the wish, checked before anything is simulated."""

from dataclasses import replace

from dpsel.core.guarantee import MOST_ROWS, Neighbors, check_at_least, check_k
from dpsel.core.target import MOST_CLASSES
from dpsel.errors import UsageError
from dpsel.evaluation.grid import parse_epsilons
from dpsel.planning.effects import STRONGEST, Effects, correlation_of_auc
from dpsel.planning.options import Guesses, Simulation, TargetGuess, Wish
from dpsel.records import frozen

MOST_FEATURES = 10**7
_MOST_EPSILONS = 100
_EFFECT, _SPREAD = 0.3, 2.0
_MOST_PICKS = 10_000
_TABLES, _WIDE_TABLES, _WIDE, _MOST_TABLES = 16, 6, 5_000, 1_000


@frozen
class TargetKind:
    """The kind of target that a table has."""

    classes: int = 0
    """The number of classes; 0 for a numeric target."""
    share: float = 0.5
    """The share of rows in one of two classes."""
    known: bool = False
    """Whether the share, or the median of the numbers, is public."""

    def words(self) -> str:
        """Return the kind of target in words."""
        if self.classes == 2:
            return f"two classes, {self.share:.3g} of the rows in one"
        return f"{self.classes} classes" if self.classes else "a number"


@frozen
class GuessedTable:
    """A table as it is guessed to be."""

    rows: int
    features: int
    effects: Effects
    target: TargetKind

    def __post_init__(self) -> None:
        """Refuse sizes that no table can have."""
        if not 2 <= self.rows <= MOST_ROWS:
            raise UsageError(f"rows must be between 2 and {MOST_ROWS}, got {self.rows}")
        if not 1 <= self.features <= MOST_FEATURES:
            raise UsageError(f"features must be between 1 and {MOST_FEATURES}, got {self.features}")
        if not 1 <= self.effects.count <= self.features:
            raise UsageError(
                f"matter must be between 1 and {self.features}, the number of features, "
                f"got {self.effects.count}"
            )

    def off(self, factor: float, *, matter: bool) -> "GuessedTable":
        """Return the table with all guesses multiplied by a factor."""
        rows = min(MOST_ROWS, max(2, round(self.rows * factor)))
        effects = self.effects.times(factor)
        if matter:
            count = min(self.features, max(1, round(effects.count * factor)))
            effects = replace(effects, count=count)
        return replace(self, rows=rows, effects=effects)


@frozen
class PlanRequest:
    """Everything that a plan depends on."""

    design: GuessedTable
    k: int
    up_to: bool
    epsilons: tuple[float, ...]
    find: float
    within: float
    matter_guessed: bool
    """Whether the number of features that matter may be wrong too."""
    neighbors: Neighbors
    tables: int
    """How many tables are simulated for every guess."""
    seed: int

    @property
    def scenarios(self) -> tuple[GuessedTable, GuessedTable, GuessedTable]:
        """Return the table if it is worse than guessed, as guessed, and better than guessed."""
        design, guessed = self.design, self.matter_guessed
        return (
            design.off(1 / self.within, matter=guessed),
            design,
            design.off(self.within, matter=guessed),
        )


def make_plan_request(
    wish: Wish, guesses: Guesses, target: TargetGuess, simulation: Simulation
) -> PlanRequest:
    """Return the request for the options of a plan without a stand-in, checked."""
    if guesses.rows is None or guesses.features is None:
        raise UsageError("give --rows N and --features D, or a stand-in with --like FILE")
    kind = _kind(target)
    k = asked_picks(wish)
    if guesses.features >= 1:  # First, since --matter is k by default.
        check_k(k, guesses.features)
    effects = _effects(guesses, kind, k)
    design = GuessedTable(guesses.rows, guesses.features, effects, kind)
    # Draws from wide tables take long, so there are fewer of these.
    tables = _TABLES if design.features <= _WIDE else _WIDE_TABLES
    return request_about(design, wish, guesses, simulation, tables)


def request_about(
    design: GuessedTable, wish: Wish, guesses: Guesses, simulation: Simulation, usual_tables: int
) -> PlanRequest:
    """Return the request about a table, whether its design is guessed or read from a stand-in."""
    return PlanRequest(
        design=design,
        k=asked_picks(wish),
        up_to=wish.up_to is not None,
        epsilons=asked_epsilons(wish),
        find=_share(wish.find, "find"),
        within=_factor(guesses.within),
        matter_guessed=guesses.matter is not None and not design.effects.listed,
        neighbors=wish.neighbors,
        tables=_tables(simulation, usual_tables),
        seed=check_at_least(0, simulation.seed, "seed"),
    )


def asked_picks(wish: Wish) -> int:
    """Return k, or the largest number of features with `--up-to`."""
    if (wish.k is None) == (wish.up_to is None):
        raise UsageError("give --k K, how many features to select, or --up-to K")
    k = check_at_least(1, int(wish.k or wish.up_to or 0), "k" if wish.up_to is None else "up-to")
    if k > _MOST_PICKS:
        raise UsageError(f"k must be at most {_MOST_PICKS} for a plan, got {k}")
    return k


def asked_epsilons(wish: Wish) -> tuple[float, ...]:
    """Return the requested epsilons, ascending."""
    epsilons = parse_epsilons(wish.epsilon)
    if len(epsilons) > _MOST_EPSILONS:
        raise UsageError(f"a plan has at most {_MOST_EPSILONS} epsilons, got {len(epsilons)}")
    return epsilons


def _tables(simulation: Simulation, usual: int) -> int:
    """Return how many tables to simulate for every guess."""
    if simulation.tables is None:
        return usual
    if not 1 <= simulation.tables <= _MOST_TABLES:
        raise UsageError(f"tables must be between 1 and {_MOST_TABLES}, got {simulation.tables}")
    return simulation.tables


def _share(share: float, name: str) -> float:
    """Return a share, which must be above 0 and below 1."""
    if not 0 < share < 1:
        raise UsageError(f"{name} must be between 0 and 1, got {share:g}")
    return share


def _factor(within: float) -> float:
    """Return the factor by which guesses may be wrong, checked."""
    if not 1 <= within <= 100:
        raise UsageError(f"within must be between 1 and 100, got {within:g}")
    return within


def _kind(target: TargetGuess) -> TargetKind:
    """Return the kind of target that the options describe."""
    if target.share is not None and target.classes is not None:
        raise UsageError("give either --share or --classes, not both")
    if target.classes is not None:
        if not 3 <= target.classes <= MOST_CLASSES:
            raise UsageError(
                f"classes must be between 3 and {MOST_CLASSES}, got {target.classes}; "
                "for two, give --share"
            )
        return TargetKind(target.classes)
    if target.share is not None:
        return TargetKind(2, _share(target.share, "share"), target.target_known)
    return TargetKind(known=target.target_known)


def _effects(guesses: Guesses, kind: TargetKind, k: int) -> Effects:
    """Return how many features matter and how strongly, from the options."""
    if guesses.auc is not None:
        if guesses.effect is not None:
            raise UsageError("give either --effect or --auc, not both")
        if kind.classes != 2:
            raise UsageError("--auc goes with two classes: give --share P")
        numbers, separator = _numbers(guesses.auc, "auc", 0.5)
        found = [correlation_of_auc(area, kind.share) for area in numbers]
    else:
        found, separator = _numbers(guesses.effect or str(_EFFECT), "effect", 0.0)
    if separator == ",":
        if guesses.matter not in (None, len(found)):
            raise UsageError(f"--matter is {guesses.matter}, but there are {len(found)} effects")
        return Effects.of(found)
    low, high = (found[0] / _SPREAD, found[0] * _SPREAD) if len(found) == 1 else sorted(found)
    return Effects(k if guesses.matter is None else guesses.matter, low, min(STRONGEST, high))


def _numbers(text: str, name: str, above: float) -> tuple[list[float], str]:
    """Return the numbers of a list or a range, and their separator."""
    separator = ":" if ":" in text else "," if "," in text else ""
    parts = text.split(separator) if separator else [text]
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if not numbers or (separator == ":" and len(numbers) != 2):
        raise UsageError(f"{name} must be a number, LOW:HIGH, or numbers with commas, got '{text}'")
    if not all(above < number < 1 for number in numbers):
        raise UsageError(f"{name} must be above {above:g} and below 1, got '{text}'")
    return [min(number, STRONGEST) if above == 0 else number for number in numbers], separator
