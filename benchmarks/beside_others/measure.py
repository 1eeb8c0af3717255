"""One contender through the overload, and what its log says."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from benchmarks.beside_others.contenders import Contender
from benchmarks.beside_others.results import Outcome

ROOT: Final = Path(__file__).resolve().parents[2]
SLOTS: Final = 4
SERVICE: Final = 0.4
"""Seconds. With four slots, the slow system does ten tasks a second."""
PATIENCE: Final = 2.0
"""Seconds after its put within which a task has to start to be of use."""
WARM_UP: Final = 5.0
"""Seconds at the beginning of the load that slots and processor time are not judged by."""
LONGEST_START: Final = 60.0
"""Seconds for workers to have done a first task in each slot."""
END: Final = 10.0
"""Seconds for workers to end when they are told to."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A task that ran; epoch seconds."""

    number: int
    put: float
    started: float
    ended: float

    @property
    def in_time(self) -> bool:
        return self.started - self.put <= PATIENCE

    def within(self, begins: float, ends: float) -> float:
        """Seconds of its run between two moments."""
        return max(0.0, min(self.ended, ends) - max(self.started, begins))


def outcome(
    contender: Contender,
    *,
    rate: float,
    seconds: float,
    given: Mapping[str, str],
    server: psutil.Process,
) -> Outcome:
    """Return what became of ``rate`` puts a second. ``given``: settings of the environment;
    ``server``: the server that keeps the tasks."""
    log, deadline = Path(given["BESIDE_LOG"]), contender.deadline
    environment = {
        **os.environ,
        **given,
        "BESIDE_RATE": str(rate),
        "BESIDE_SECONDS": str(seconds),
        "BESIDE_DEADLINE": str(deadline),
        "BESIDE_SLOTS": str(SLOTS),
    }

    def client(verb: str, **more: str) -> str:
        command = (*contender.client, verb)
        said = subprocess.run(
            command, cwd=ROOT, env={**environment, **more}, check=True, stdout=subprocess.PIPE
        )
        return said.stdout.decode()

    with _working(contender.work, environment) as worker:
        _warm_up(lambda: client("put", BESIDE_SECONDS=str(SLOTS / rate)), deadline, log)
        log.unlink()
        before = json.loads(client("count"))
        putting = subprocess.Popen((*contender.client, "put"), cwd=ROOT, env=environment)
        while not log.exists() and putting.poll() is None:
            time.sleep(0.05)
        time.sleep(WARM_UP)
        began, cpu, server_cpu = time.time(), _cpu(worker), _cpu(server)
        if putting.wait() != 0:
            raise RuntimeError(f"{contender.name} did not put its tasks")
        ended, cpu, server_cpu = time.time(), _cpu(worker) - cpu, _cpu(server) - server_cpu
        time.sleep(deadline + PATIENCE)
        counts = {name: n - before[name] for name, n in json.loads(client("count")).items()}
    ran = [Ran(**json.loads(line)) for line in log.read_text().splitlines()]
    log.unlink()
    put, slots = round(rate * seconds), SLOTS * (ended - began)
    busy = sum(task.within(began, ended) for task in ran)
    tasks = sum(began < task.ended <= ended for task in ran)
    shed = contender.shed(counts, len(ran))
    return Outcome(
        queue=contender.name,
        in_time=sum(task.in_time for task in ran) / put,
        busy=busy / slots,
        useful=sum(task.within(began, ended) for task in ran if task.in_time) / slots,
        idle_ms=(slots - busy) / tasks * 1_000,
        cpu_ms=cpu / tasks * 1_000,
        server_cpu_ms=server_cpu / tasks * 1_000,
        put=put,
        ran=len(ran),
        shed=shed,
        without_trace=put - len(ran) - shed,
    )


def _warm_up(put: Callable[[], object], deadline: float, log: Path) -> None:
    """Put tasks until as many as there are slots have run. A task that is put before workers are
    there may be shed."""
    end = time.monotonic() + LONGEST_START
    while not log.exists() or len(log.read_text().splitlines()) < SLOTS:
        if time.monotonic() > end:
            raise RuntimeError(f"no task was done within {LONGEST_START:g} s")
        put()
        time.sleep(deadline + PATIENCE)


@contextmanager
def _working(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[psutil.Process]:
    """Workers, which end with the block."""
    worker = psutil.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield worker
    finally:
        family = [worker, *worker.children(recursive=True)]
        worker.terminate()
        _, left = psutil.wait_procs(family, END)
        for process in left:
            process.kill()
        worker.wait()


def _cpu(process: psutil.Process) -> float:
    """Seconds of processor time that it and all its children took so far."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        try:
            total += sum(one.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue  # it has ended, and counts among its parent's children
    return total
