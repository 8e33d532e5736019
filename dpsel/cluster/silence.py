"""Workers that are there and do nothing: frozen, or on a machine that nothing can reach."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from dpsel.errors import ClusterError

# A worker is heard of every half second; of many it is rarer, by about so many seconds each.
_LEAST_BEFORE_NOTE, _LEAST, _SECONDS_A_WORKER = 5.0, 10.0, 0.05


class RollCall:
    """When workers were last heard of; one that has our work and is silent is sent away.

    Dask waits for five minutes or for ever, as the scheduler's `worker-ttl` says. A worker that
    wakes up after it was sent away ends by itself, and what it returns counts no more.
    """

    def __init__(self, client: Any, patience: float, note: Callable[[str], None]) -> None:
        """Wait for so many seconds, and say in a note what is waited for."""
        self._client, self._patience, self._note = client, patience, note
        self._heard: dict[str, tuple[float, float]] = {}
        self._told: set[str] = set()

    def call(self, workers: Mapping[str, Any], run: str) -> None:
        """Look at what a scheduler tells of its workers; `run` begins the names of our tasks."""
        now = time.monotonic()
        # By our own clock: theirs may be another.
        for address, about in workers.items():
            seen = about["last_seen"]
            if address not in self._heard or self._heard[address][0] != seen:
                self._heard[address] = seen, now
                self._told.discard(address)
        more = _SECONDS_A_WORKER * len(workers)
        silent = {address: now - self._heard[address][1] - more for address in workers}
        late = [one for one in silent if silent[one] > max(_LEAST_BEFORE_NOTE, self._patience / 3)]
        for address in self._with_work(late, run):
            if silent[address] > max(_LEAST, self._patience):
                self._send_away(address)
            elif address not in self._told:
                self._told.add(address)
                self._note("a worker of the cluster is silent; if it stays so, others get its work")

    def _with_work(self, addresses: list[str], run: str) -> list[str]:
        """Return those that have tasks or results of ours; others are no business of ours."""
        if not addresses:
            return []
        scheduler = self._client.scheduler
        found = [self._asked(question) for question in (scheduler.processing, scheduler.has_what)]
        return [
            address
            for address in addresses
            if any(str(key).startswith(run) for keys in found for key in keys.get(address, ()))
        ]

    def _send_away(self, address: str) -> None:
        """Let the scheduler give the work of a worker to others."""
        self._note("a worker of the cluster was silent for too long: its work is done elsewhere")
        self._asked(self._client.scheduler.unregister, address=address, stimulus_id="dpsel-silent")

    def _asked(self, question: Callable[..., Any], **options: Any) -> Any:
        """Return the scheduler's answer."""
        try:
            return self._client.sync(question, callback_timeout=self._patience, **options)
        except (OSError, TimeoutError):
            raise ClusterError("the connection to the scheduler was lost") from None
