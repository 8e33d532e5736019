"""Real clusters on this machine: Dask's own in this process, and one of processes to be killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT
from tests.cli.conftest import dpsel as dpsel
from tests.cli.conftest import dpsel_process as dpsel_process

pytest.importorskip("distributed", reason="a cluster needs Dask")


@pytest.fixture(scope="package")
def local_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two processes of one thread each, until the last test here: idle, they still take time."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        # Without a dashboard there is still a server for HTTP, at any free port.
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        local_directory=str(tmp_path_factory.mktemp("spill")),
    ) as cluster:
        yield cluster


class Processes:
    """A scheduler and workers without nannies, each a process."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        self.workers: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def start_scheduler(self, *options: str) -> None:
        place = self.folder / "scheduler.json"
        common = ["--scheduler-file", str(place), "--dashboard-address", "127.0.0.1:0"]
        self.scheduler = self._start(
            "dask_scheduler", *common, "--host", "127.0.0.1", "--port", "0", *options
        )
        wait_until(lambda: place.exists() and place.read_text().endswith("}"))
        self.address = json.loads(place.read_text())["address"]

    def start_worker(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        started = self._start(
            "dask_worker",
            self.address,
            *("--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"),
            *("--local-directory", str(self.folder)),
            *options,
            **environment,
        )
        self.workers.append(started)
        return started

    def _start(self, module: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        started = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *options],
            env={**self._environment, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
        )
        self._all.append(started)
        return started

    def stop(self) -> None:
        for process in self._all:
            process.kill()
            process.wait()


@contextmanager
def processes(folder: Path, workers: int, *options: str, **environment: str) -> Iterator[Processes]:
    """Start a scheduler and workers, and kill them at the end."""
    found = Processes(folder, environment)
    try:
        found.start_scheduler(*options)
        for _ in range(workers):
            found.start_worker(*options)
        yield found
    finally:
        found.stop()


def wait_until(there: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def started_dpsel(*arguments: object, **environment: str) -> subprocess.Popen[bytes]:
    """Start a command line in a process of its own, and do not wait for it."""
    return subprocess.Popen(
        [sys.executable, "-m", "dpsel", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def ended(process: subprocess.Popen[bytes], seconds: float = 90) -> tuple[int, str, str]:
    """Wait for a command, and return its exit code, stdout and stderr."""
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()
    return process.returncode, out.decode(), err.decode()


def send(process: subprocess.Popen[bytes], name: str) -> None:
    process.send_signal(getattr(signal, name))
