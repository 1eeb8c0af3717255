"""Check that library, functions, workers and table are of one release."""

from collections.abc import Iterator
from typing import Final

import lifoq
from lifoq.aws.dynamo_values import plain
from lifoq.basics.host import SYSTEM
from lifoq.health import worker_notes
from lifoq.health.pressure import NOTE
from lifoq.items.schema import Attribute
from lifoq.operating.deployment import RELEASE_TAG
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.doctor.patient import Patient
from lifoq_cli.release import numbers

LIBRARY: Final = "library"
FUNCTIONS: Final = "functions"
TABLE: Final = "table"


def versions(patient: Patient) -> Iterator[Finding]:
    """Compare the releases of this library, of the functions, of the workers at work and of the
    table, each as it tells it itself."""
    deployed, here = patient.parts.release, lifoq.__version__
    patient.versions |= {LIBRARY: here, FUNCTIONS: deployed}
    if numbers(deployed) != numbers(here):
        older = numbers(here) < numbers(deployed)
        yield Finding(
            wrong=f"The functions were deployed by lifoq {deployed}, this is {here}.",
            meaning="What one writes, the other may not understand.",
            remedy=f"pip install 'lifoq=={deployed}'" if older else patient.deploy,
        )
    yield from _workers(patient)
    # The last, since few callers may read tags: what was found before is told nevertheless.
    if (table := _of_table(patient)) is None:
        return
    patient.versions[TABLE] = table
    if numbers(table) != numbers(deployed):
        yield Finding(
            wrong=f"The table was deployed by lifoq {table}, the functions by {deployed}.",
            meaning="The last deployment left one of their stacks out: the table may lack what the "
            "functions read.",
            remedy=patient.deploy,
        )


def _of_table(patient: Patient) -> str | None:
    """Return the release that deployed the table; None if its tag is missing."""
    answer = patient.account.call(
        "dynamodb", "list_tags_of_resource", ResourceArn=patient.table["TableArn"]
    )
    tags = {tag["Key"]: tag["Value"] for tag in answer.get("Tags", [])}
    release: str | None = tags.get(RELEASE_TAG)
    return release


def _workers(patient: Patient) -> Iterator[Finding]:
    """Look for workers at work of another release than the functions."""
    deployed = patient.parts.release
    answer = patient.account.call(
        "dynamodb",
        "get_item",
        TableName=patient.connection.table,
        Key={Attribute.TASK_ID.value: {"S": NOTE}},
    )
    now = SYSTEM.now()
    others = {
        (note.place, note.release)
        for note in worker_notes.of(plain(answer.get("Item", {})))
        if note.is_at_work(now) and numbers(note.release) != numbers(deployed)
    }
    for place, release in sorted(others):
        yield Finding(
            wrong=f"The worker {place} runs lifoq {release}, the functions {deployed}.",
            meaning="For some minutes after a deployment this is well: a run ends on the code that "
            "it began with.",
            remedy=f"install lifoq {deployed} where the worker runs, or build its image anew, and "
            "start it again",
        )
