"""``python -m benchmarks.beside_others``: see README.md."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import boto3
import click
import psutil

from benchmarks.beside_others.contenders import contenders
from benchmarks.beside_others.measure import PATIENCE, ROOT, SERVICE, SLOTS, outcome
from benchmarks.beside_others.packages import installed
from benchmarks.beside_others.results import Outcome, Results
from benchmarks.record import recording
from lab.dynamodb_local import CREDENTIALS
from lab.dynamodb_local import running as running_dynamodb
from lab.ports import held_port
from lifoq.testing import create_table

TABLE: Final = "beside-others"
SLOW_SYSTEM: Final = ROOT / "examples" / "overload" / "slow_system.py"


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="Of load, for each contender.")
@click.option("--rate", default=20.0, show_default=True, help="Puts a second; ten can be done.")
@click.option("--deadline", default=10.0, show_default=True, help="Of the queue, in seconds.")
@click.option("--only", metavar="NAME", help="Those whose name begins so; nothing is recorded.")
def main(seconds: float, rate: float, deadline: float, only: str | None) -> None:
    """Run the overload of `make demo` through lifoq, RQ, BullMQ and Celery, one after the other.
    Some seven minutes. It needs redis-server, and installs the others' packages into .build."""
    packages = installed()
    with (
        recording("beside_others", "python -m benchmarks.beside_others") as found,
        TemporaryDirectory() as scratch,
        _database(Path(scratch)) as (endpoint, database),
        _redis(Path(scratch)) as (redis, redis_server),
    ):
        given = {
            "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
            "AWS_REGION": CREDENTIALS["region_name"],
            "AWS_DEFAULT_REGION": CREDENTIALS["region_name"],
            "BESIDE_LOG": str(Path(scratch) / "log"),
            "BESIDE_TABLE": TABLE,
            "BESIDE_DYNAMODB": endpoint,
            "BESIDE_REDIS": redis,
            "BESIDE_MODULES": str(packages.modules),
        }
        outcomes: list[Outcome] = []
        for contender in contenders(
            packages, deadline=deadline, table=TABLE, endpoint=endpoint, redis=redis
        ):
            if not contender.name.startswith(only or ""):
                continue
            with _slow_system() as url:
                server = redis_server if contender.needs_redis else database
                here = {**given, "BESIDE_URL": url}
                outcomes.append(
                    outcome(contender, rate=rate, seconds=seconds, given=here, server=server)
                )
            print(outcomes[-1], flush=True)
        if only:
            raise SystemExit
        found.results = Results(
            puts_per_second=rate,
            seconds=seconds,
            deadline_seconds=deadline,
            patience_seconds=PATIENCE,
            outcomes=outcomes,
        )


@contextmanager
def _database(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    with running_dynamodb(folder / "dynamodb.log") as endpoint:
        client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
        create_table(client, TABLE)
        (java,) = (child for child in psutil.Process().children() if child.name() == "java")
        yield endpoint, java


@contextmanager
def _slow_system() -> Iterator[str]:
    """Run the system that the tasks ask in a process of its own, on a free port; its URL."""
    command = [sys.executable, str(SLOW_SYSTEM), "--port=0"]
    command += [f"--slots={SLOTS}", f"--service-seconds={SERVICE}"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if not process.stdout or not (url := process.stdout.readline().strip()):
                raise RuntimeError("the slow system did not start; its message stands above")
            yield url
        finally:
            process.kill()


@contextmanager
def _redis(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Run Redis in memory alone, on a free port of this machine."""
    options = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder))
    with held_port() as port:
        server = psutil.Popen(
            [shutil.which("redis-server"), "--port", str(port), *options], stdout=subprocess.DEVNULL
        )
        try:
            _wait_until_open(port)
            yield f"redis://127.0.0.1:{port}/0", server
        finally:
            server.terminate()
            server.wait()


def _wait_until_open(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("redis-server did not open its port")


if __name__ == "__main__":
    main()
