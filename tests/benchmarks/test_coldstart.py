"""What a function loads before its first event has a ceiling, so that it does not grow unnoticed.

Bytes of source and numbers of files, since they do not depend on the machine; and one time, against
that of boto3 in the same run, with a wide margin.
"""

import pytest

from benchmarks.coldstart.sandbox import SERVICES, Sandbox, lay_out

CEILINGS = {
    "trigger": (542_000, 75),
    "create_tasks": (675_000, 89),
    "sweep": (732_000, 103),
    "ingest": (689_000, 93),
    "api": (751_000, 104),
    "process_tasks": (847_000, 122),
    "task_events": (592_000, 84),
}
"""Bytes of source and files, two per cent above what they are. Lambda's asset folder is read-only:
Python compiles what it imports from there at every start."""
TIMES_BOTO3 = 1.3


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory) -> Sandbox:
    return lay_out(tmp_path_factory.mktemp("lambda"))


@pytest.mark.parametrize("function", SERVICES)
def test_a_start_imports_no_more_of_the_asset_than_it_needs(sandbox, function):
    found = sandbox.start(function)

    source_bytes, files = CEILINGS[function]
    assert found["asset_source_bytes"] <= source_bytes
    assert len(found["asset_files"]) <= files
    assert not found["reads_boto3"]
    # Next to nothing of a start is garbage; later on, it is looked for.
    assert found["collections"] <= 1
    assert found["collects"]
    others = {name for name in SERVICES if name != function}
    assert not [
        file for file in found["asset_files"] if file.split("/")[1:2] in [[o] for o in others]
    ]


def test_a_start_takes_no_more_than_boto3_and_its_clients_would_by_a_wide_margin(sandbox):
    own, boto3 = [], []
    for _ in range(3):
        boto3.append(sandbox.start("boto3", *SERVICES["process_tasks"])["processor_ms"])
        own.append(sandbox.start("process_tasks")["processor_ms"])

    assert min(own) < TIMES_BOTO3 * min(boto3)
