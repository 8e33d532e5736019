"""How a run is paid for: charged before it reads a row, stored before it is released.

Only texts go in and out; nothing here sees a table or an array.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpsel.budget.amounts import Amount, cost_of
from dpsel.budget.payment import REQUIRE_LEDGER, Demands, Payment
from dpsel.budget.place import (
    NAME_VARIABLE,
    check_name,
    check_note,
    check_run_id,
    ledger_from_environment,
    ledger_place,
)
from dpsel.core.guarantee import Guarantee, Scope
from dpsel.errors import DpselError, UsageError
from dpsel.records import frozen
from dpsel.reporter import Reporter

if TYPE_CHECKING:  # Most runs have no ledger, so SQLite is imported only when needed.
    from dpsel.budget.charges import Charge, ChargeRequest, Standing
    from dpsel.budget.ledger import LedgerFile

SEEDED = "a draw with --seed is not private"
NOT_PRIVATE = "the method is not private"


@frozen
class Run:
    """A run as a ledger sees it. A run id stands for one set of parameters at one cost."""

    command: str
    guarantee: Guarantee
    person: str | None
    parameters: Mapping[str, Any]
    not_private: str | None
    """Why the run has no guarantee; None if it has one."""

    @property
    def free_because(self) -> str | None:
        """Return why the run costs nothing; None if it is charged."""
        if self.not_private is None:
            return None
        return f"{self.not_private}, so there is no budget to spend on it"


@frozen
class Quote:
    """What a run would cost, and how the ledger that would pay for it stands."""

    command: str
    cost: Amount
    free_because: str | None
    ledger: "Standing | None"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; amounts are exact decimals, as texts."""
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
        """Refuse a cost that the ledger does not cover, as the run would."""
        if self.ledger is not None:
            self.ledger.refuse_overrun(self.cost)


class Account:
    """What a run has to do with a ledger. Here there is none, so every step does nothing."""

    name: str | None = None
    run_id: str | None = None

    def __init__(self, run: Run, demands: Demands) -> None:
        """Keep the run and the demands on it."""
        self._run = run
        self._demands = demands

    def refuse_partial(self, scope: Scope | None) -> None:
        """Refuse a guarantee that does not meet the demands; `scope` is None without one."""
        self._demands.refuse_partial(scope)

    def is_at(self, place: str) -> bool:
        """Return whether a path leads to the ledger file."""
        return False

    def released(self) -> str | None:
        """Return the record that an earlier run with this run id released, if any."""
        return None

    def charge(self) -> str | None:
        """Charge the run, durably; or return a record that another process has just released."""
        return None

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Make errors raised inside say what was charged, and that it stays charged."""
        yield

    def store(self, record: str, guarantee: Guarantee | None) -> str:
        """Store the drawn record, durably, and return the record that may be released."""
        return record

    def quote(self) -> Quote:
        """Return what the run would cost without a ledger."""
        free = self._run.free_because
        cost = cost_of(self._run.guarantee) if free is None else Amount()
        return Quote(self._run.command, cost, free, None)

    def recovery_advice(self) -> str | None:
        """Return how to get a stored release that could not be written; None if none is stored."""
        return None

    def damaged(self) -> DpselError:
        """Return the error for a stored record that cannot be read."""
        raise AssertionError("nothing is stored without a ledger")


class LedgerAccount(Account):
    """The account of a run that a ledger pays for.

    Privacy:
        Guarantee: nothing may be released unless its cost is on the disk, charged before the first
            row is read. A run that fails or dies after that stays charged, because whether it did
            may depend on the rows or the draw. For the same reason a run id that was charged, but
            has no release, is charged again: the draw is a new one. A run id with a release returns
            that release, reads no table and costs nothing; the same bytes reveal nothing new.
        Assumes: see `LedgerFile.charge`.
        Tested by: tests/privacy/test_ledger_crashes.py
    """

    def __init__(
        self,
        run: Run,
        demands: Demands,
        ledgers: "LedgerFile",
        name: str,
        asked: "ChargeRequest",
        reporter: Reporter,
    ) -> None:
        """Prepare to charge the ledger `name` with `asked`; charge nothing yet."""
        super().__init__(run, demands)
        self.name: str = name
        self.run_id = asked.run_id
        self._ledgers = ledgers
        self._asked = asked
        self._reporter = reporter
        self._charge: Charge | None = None
        self._charging = False

    def is_at(self, place: str) -> bool:
        """Return whether a path leads to the ledger file."""
        return self._ledgers.is_at(place)

    def released(self) -> str | None:
        """Return the stored record of this run id, if any; refuse early what is not covered."""
        ledger, earlier = self._ledgers.released(self.name, self._asked)
        if earlier is not None:
            return self._release_again(earlier)
        # `charge` decides; refusing here saves opening a table in vain.
        ledger.refuse_overrun(self._asked.cost)
        return None

    def charge(self) -> str | None:
        """Charge the run, durably; or return a record that another process has just released."""
        if self._charging:
            raise RuntimeError("a run is charged once")
        self._charging = True
        paid = self._ledgers.charge(self.name, self._asked)
        if paid.charge.release is not None:
            self._charging = False
            return self._release_again(paid.charge)
        self._charge = paid.charge
        if paid.unfinished:
            self._reporter.note(
                f"run id '{self._asked.run_id}' was charged before and has no release; a new draw "
                "is charged again"
            )
        left = paid.ledger.left.words()
        self._reporter.receipt(
            f"charged {self._asked.cost.words()} to the ledger '{self.name}'; {left} left"
        )
        return None

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Make errors raised inside say what was charged, and that it stays charged."""
        try:
            yield
        except DpselError as error:
            if self._charge is not None:
                raise type(error)(f"{error}; {self._spent()}") from error
            raise
        except BaseException:  # An interrupt, or a bug.
            if self._charging:
                self._reporter.warn(self._spent())
            raise

    def store(self, record: str, guarantee: Guarantee | None) -> str:
        """Store the drawn record, durably, and return the record that may be released."""
        if self._charge is None or not _states(guarantee, self._asked):
            raise RuntimeError("a release must be charged once, with what its record states")
        return self._ledgers.store(self.name, self._charge, record)

    def quote(self) -> Quote:
        """Return what the run would cost; read no table and charge nothing."""
        ledger, earlier = self._ledgers.released(self.name, self._asked)
        if earlier is not None:
            because = f"run id '{self._asked.run_id}' has its release already"
            return Quote(self._run.command, Amount(), because, ledger)
        return Quote(self._run.command, self._asked.cost, None, ledger)

    def recovery_advice(self) -> str | None:
        """Return how to get the stored release if it could not be written."""
        again = f"`dpsel budget export {self.name}` prints it"
        if self._asked.run_id is not None:
            again = f"run it again with --run-id {self._asked.run_id}, at no cost"
        return f"the release was charged and is kept: {again}"

    def damaged(self) -> DpselError:
        """Return the error for a stored record that cannot be read."""
        from dpsel.budget.schema import damaged

        return damaged(self._ledgers.place)

    def _release_again(self, charge: "Charge") -> str:
        """Return the release of an earlier run, and report that it costs nothing."""
        self._reporter.receipt(
            f"run id '{self._asked.run_id}' was released before ({charge.time}): this is that "
            "release, and costs nothing"
        )
        return str(charge.release)

    def _spent(self) -> str:
        """Return, in words, what a run that failed has cost."""
        amount = self._asked.cost.words()
        if self._charge is not None:
            return f"{amount} was charged to the ledger '{self.name}' and stays charged"
        return (
            f"{amount} may have been charged to the ledger '{self.name}', and then stays charged; "
            f"`dpsel budget log {self.name}` shows it"
        )


def open_account(run: Run, payment: Payment, reporter: Reporter) -> Account:
    """Return the account of a run, with the ledger that an option or the environment names."""
    named = {
        "--ledger": payment.ledger,
        "--run-id": payment.run_id,
        "--ledger-file": payment.ledger_file,
        "--note": payment.note,
    }
    given = [option for option, value in named.items() if value is not None]
    name, demands = payment.named_ledger, payment.demands()
    _refuse_unmet(run, demands, name)
    if run.free_because is not None:
        if given:
            raise UsageError(f"{given[0]}: {run.free_because}; leave it out")
        if ledger_from_environment() is not None:
            reporter.note(f"{NAME_VARIABLE} is not charged: {run.free_because}")
        return Account(run, demands)
    if name is None:
        if given:
            raise UsageError(f"{given[0]} needs --ledger NAME, or {NAME_VARIABLE}")
        return Account(run, demands)
    from dpsel.budget.charges import ChargeRequest, Terms
    from dpsel.budget.ledger import LedgerFile

    asked = ChargeRequest(
        cost=cost_of(run.guarantee),
        terms=Terms(run.guarantee.neighbors, run.person),
        rows_per_unit=int(run.guarantee.unit.rows),
        command=run.command,
        parameters=run.parameters,
        run_id=None if payment.run_id is None else check_run_id(payment.run_id),
        note=check_note(payment.note, "--note"),
    )
    ledgers = LedgerFile(ledger_place(payment.ledger_file))
    return LedgerAccount(run, demands, ledgers, check_name(name), asked, reporter)


def _refuse_unmet(run: Run, demands: Demands, ledger: str | None) -> None:
    """Refuse a run that cannot meet the demands, before anything is opened."""
    if demands.ledger and (ledger is None or run.free_because is not None):
        missing = run.free_because or f"none is named; give --ledger NAME, or {NAME_VARIABLE}"
        raise UsageError(f"a ledger is required (--require-ledger or {REQUIRE_LEDGER}): {missing}")
    if run.not_private is not None:
        demands.refuse_partial(None)


def _states(guarantee: Guarantee | None, asked: "ChargeRequest") -> bool:
    """Return whether a record states exactly the guarantee that was charged for."""
    return (
        guarantee is not None
        and cost_of(guarantee) == asked.cost
        and guarantee.neighbors is asked.terms.neighbors
        and (guarantee.unit.name == "person") is (asked.terms.person is not None)
        and guarantee.unit.rows == asked.rows_per_unit
    )
