"""How a run is paid for: charged before it reads a row, stored before it is released."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dpsel.budget.amounts import Amount, cost_of
from dpsel.budget.place import (
    NAME_VARIABLE,
    REQUIRE_LEDGER,
    Demands,
    check_name,
    check_run_id,
    ledger_from_environment,
    ledger_place,
)
from dpsel.core.guarantee import Guarantee
from dpsel.core.release import Selection
from dpsel.errors import DpselError, UsageError
from dpsel.reporter import Reporter
from dpsel.selection.record import OutputFormat, selection_text

if TYPE_CHECKING:
    from dpsel.budget.ledger import Asked, Charge, LedgerFile, Standing


SEEDED = "a draw with --seed is not private"
NOT_PRIVATE = "the method is not private"


@dataclass(frozen=True)
class Order:
    """What is to be run. Equal parameters, with equal costs, are one run under one run id."""

    command: str
    guarantee: Guarantee
    person: str | None
    parameters: Mapping[str, Any]
    not_private: str | None
    """Why nothing is promised; None if the guarantee is."""
    demands: Demands

    @property
    def free_because(self) -> str | None:
        """Return why there is nothing to charge; None if there is."""
        if self.not_private is None:
            return None
        return f"{self.not_private}, so there is no budget to spend on it"


def charge_nothing() -> None:
    """Run without a ledger."""


class Payer(Reporter, Protocol):
    """Whoever runs something, and hears what it cost."""

    def receipt(self, message: str) -> None:
        """Hear what was charged, or why nothing was."""
        ...


@dataclass(frozen=True)
class Release:
    """What may be published."""

    selection: Selection
    stored: str | None = None
    """The record as a ledger keeps it."""

    @property
    def record(self) -> str:
        """Return the record in JSON; of one run id always the same bytes."""
        return self.stored or selection_text(self.selection, OutputFormat.JSON)


@dataclass(frozen=True)
class Purse:
    """The ledger that pays for a run."""

    file: "LedgerFile"
    name: str
    asked: "Asked"
    demands: Demands


@dataclass(frozen=True)
class Quote:
    """What a run would cost, and the ledger that would pay for it."""

    command: str
    cost: Amount
    free_because: str | None
    ledger: "Standing | None"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; amounts are exact, so they are texts."""
        ledger, cost = self.ledger, self.cost
        return {
            "schema": "dpsel.cost/1",
            "command": self.command,
            "cost": cost.to_dict(),
            "free_because": self.free_because,
            "ledger": None if ledger is None else ledger.name,
            "left": None if ledger is None else ledger.left.to_dict(),
            "left_after": None if ledger is None else ledger.left.less(cost).to_dict(),
            "fits": None if ledger is None else ledger.left.covers(cost),
        }

    def refuse_overrun(self) -> None:
        """Refuse, as a run would, what does not fit into its ledger."""
        if self.ledger is not None:
            from dpsel.budget.ledger import refuse_overrun

            refuse_overrun(self.ledger, self.cost)


class _ReleasedMeanwhile(Exception):
    """Another process with the same run id was first."""

    def __init__(self, charge: "Charge") -> None:
        self.charge = charge


def open_purse(
    order: Order,
    payer: Payer,
    *,
    ledger: str | None,
    ledger_file: str | Path | None,
    run_id: str | None,
) -> Purse | None:
    """Return the ledger that was named, by argument or environment; None if nothing is charged."""
    named = {"--ledger": ledger, "--run-id": run_id, "--ledger-file": ledger_file}
    given = [option for option, value in named.items() if value is not None]
    from_environment = ledger_from_environment()
    _refuse_unmet(order, ledger or from_environment)
    if order.free_because is not None:
        if given:
            raise UsageError(f"{given[0]}: {order.free_because}; leave it out")
        if from_environment is not None:
            payer.note(f"{NAME_VARIABLE} is not charged: {order.free_because}")
        return None
    name = ledger if ledger is not None else from_environment
    if name is None:
        if given:
            raise UsageError(f"{given[0]} needs --ledger NAME, or {NAME_VARIABLE}")
        return None
    from dpsel.budget.ledger import Asked, LedgerFile, Terms

    asked = Asked(
        cost=cost_of(order.guarantee),
        terms=Terms(order.guarantee.neighbors, order.person),
        rows_per_unit=int(order.guarantee.unit.rows),
        command=order.command,
        parameters=order.parameters,
        run_id=None if run_id is None else check_run_id(run_id),
    )
    return Purse(LedgerFile(ledger_place(ledger_file)), check_name(name), asked, order.demands)


def _refuse_unmet(order: Order, ledger: str | None) -> None:
    """Refuse a run that is known not to be as it was demanded, before anything is opened."""
    if order.demands.ledger and (ledger is None or order.free_because is not None):
        missing = order.free_because or f"none is named; give --ledger NAME, or {NAME_VARIABLE}"
        raise UsageError(f"a ledger is required (--require-ledger or {REQUIRE_LEDGER}): {missing}")
    if order.not_private is not None:
        order.demands.refuse_partial(None)


def quote(order: Order, purse: Purse | None) -> Quote:
    """Return what a run would cost; reads no table, and charges nothing."""
    if order.free_because is not None:
        return Quote(order.command, Amount(), order.free_because, None)
    if purse is None:
        return Quote(order.command, cost_of(order.guarantee), None, None)
    ledger, done = purse.file.released(purse.name, purse.asked)
    if done is not None:
        because = f"run id '{purse.asked.run_id}' has its release already"
        return Quote(order.command, Amount(), because, ledger)
    return Quote(order.command, purse.asked.cost, None, ledger)


def carry_out(
    run: Callable[[Callable[[], None]], Selection], purse: Purse | None, payer: Payer
) -> Release:
    """Run, and return what may be released: charge first, then draw, then store, then release.

    `run` is given what charges, and calls it once, before it reads a row: see `run_select`.

    Privacy:
        Guarantee: nothing is returned whose cost is not on the disk, charged before the first
            draw. What fails or dies after that stays charged: whether it did may depend on the
            rows or the draw. For the same reason a run id that was charged, and has no release, is
            charged again: the draw is a new one. A run id that has its release returns that one,
            reads no table and costs nothing; the same bytes tell nothing new.
        Assumes: see `LedgerFile.charge`.
        Tested by: tests/privacy/test_ledger_crashes.py
    """
    if purse is None:
        return Release(run(charge_nothing))
    from dpsel.budget.ledger import refuse_overrun

    ledger, done = purse.file.released(purse.name, purse.asked)
    if done is not None:
        return _again(done, purse, payer)
    # The charge itself decides; this spares opening a table in vain.
    refuse_overrun(ledger, purse.asked.cost)
    charges: list[Charge | None] = []

    def charge() -> None:
        # None while it is not known whether the charge is on the disk.
        charges.append(None)
        charges[-1] = _charge(purse, payer)

    try:
        selection = run(charge)
        return _store(selection, charges, purse)
    except _ReleasedMeanwhile as meanwhile:
        return _again(meanwhile.charge, purse, payer)
    except DpselError as error:
        if any(charges):
            raise type(error)(f"{error}; {_spent(charges, purse)}") from error
        raise
    except BaseException:  # An interrupt, or a bug.
        if charges:
            payer.warn(_spent(charges, purse))
        raise


def _store(selection: Selection, charges: "Sequence[Charge | None]", purse: Purse) -> Release:
    """Keep what was drawn in the ledger, and return what may be released."""
    charge = charges[0] if len(charges) == 1 else None
    if charge is None or not _states(selection, purse.asked):
        raise RuntimeError("a release must be charged once, with what its record states")
    record = selection_text(selection, OutputFormat.JSON)
    kept = purse.file.store(purse.name, charge, record)
    return Release(selection, record) if kept == record else _stored(kept, purse)


def _spent(charges: "Sequence[Charge | None]", purse: Purse) -> str:
    """Return what a run that released nothing has cost."""
    amount = _words(purse.asked.cost)
    if any(charges):
        return f"{amount} was charged to the ledger '{purse.name}' and stays charged"
    return (
        f"{amount} may have been charged to the ledger '{purse.name}', and then stays charged; "
        f"`dpsel budget log {purse.name}` shows it"
    )


def _charge(purse: Purse, payer: Payer) -> "Charge":
    """Charge a run, and say so."""
    asked = purse.asked
    paid = purse.file.charge(purse.name, asked)
    if paid.charge.release is not None:
        raise _ReleasedMeanwhile(paid.charge)
    if paid.unfinished:
        payer.note(
            f"run id '{asked.run_id}' was charged before and has no release; a new draw is charged "
            "again"
        )
    left = _words(paid.ledger.left)
    payer.receipt(f"charged {_words(asked.cost)} to the ledger '{purse.name}'; {left} left")
    return paid.charge


def _states(selection: Selection, asked: "Asked") -> bool:
    """Return whether a record states just what was charged."""
    stated = selection.guarantee
    return (
        stated is not None
        and cost_of(stated) == asked.cost
        and stated.neighbors is asked.terms.neighbors
        and (stated.unit.name == "person") is (asked.terms.person is not None)
        and stated.unit.rows == asked.rows_per_unit
    )


def _again(charge: "Charge", purse: Purse, payer: Payer) -> Release:
    """Return the release of an earlier run."""
    payer.receipt(
        f"run id '{purse.asked.run_id}' was released before ({charge.time}): this is that release, "
        "and costs nothing"
    )
    return _stored(str(charge.release), purse)


def _stored(record: str, purse: Purse) -> Release:
    """Return a release from the record that a ledger keeps, if it is as it was demanded."""
    try:
        selection = Selection.from_dict(json.loads(record))
    except (ValueError, KeyError, TypeError, AttributeError, UsageError):
        from dpsel.budget.schema import damaged

        raise damaged(purse.file.place) from None
    stated = selection.guarantee
    purse.demands.refuse_partial(None if stated is None else stated.scope)
    return Release(selection, record)


def _words(amount: Amount) -> str:
    """Return an amount in words."""
    texts = amount.to_dict()
    return f"epsilon {texts['epsilon']}" + (f" and delta {texts['delta']}" if amount.delta else "")
