"""The files of each page that tells how to, in a folder of their own: its tests pass, its
application is synthesized, its scripts do what they say."""

import functools
import json
import os
import re
import runpy
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from lifoq import Queue, Status
from lifoq.client.connection import Connection
from lifoq.items.lifetimes import Lifetimes
from lifoq.testing import create_table
from lifoq_analytics.judging.tasks import SCHEMA
from tests.docs.test_docs import ROOT
from tests.infrastructure.commands import run

DOCS = ROOT / "docs"
HOW_TO = {page.stem: page.read_text() for page in sorted((DOCS / "how-to").glob("*.md"))}
OTHERS = {name: (DOCS / f"{name}.md").read_text() for name in ("constructs", "long-tasks")}
"""Pages with one complete example, among others."""
FILES = {
    name: dict(re.findall(r'```\w+ title="(.+?)"\n(.*?)```', page, re.DOTALL))
    for name, page in (HOW_TO | OTHERS).items()
}


def having(file: str) -> list[str]:
    return [name for name, files in FILES.items() if file in files]


def written(page: str, folder: Path) -> Path:
    for name, text in FILES[page].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def python(folder: Path, *arguments: str, **environment: str) -> str:
    env = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", **environment}
    return run(sys.executable, *arguments, cwd=folder, env=env)


@pytest.fixture
def synthesized(tmp_path, monkeypatch) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Synthesizes the application of a page, and returns its template. All share this process, and
    the constructs in it, which take longer to start than to use."""

    def template(page: str) -> dict[str, Any]:
        folder, out = written(page, tmp_path), tmp_path / "out"
        if "from_asset" in FILES[page]["app.py"]:
            # The program of the constructs looks for the folder, and stays where it was started.
            python(folder, "app.py", CDK_OUTDIR=str(out))
        else:
            monkeypatch.chdir(folder)
            monkeypatch.syspath_prepend(folder)
            monkeypatch.setattr(cdk, "App", functools.partial(cdk.App, outdir=str(out)))
            runpy.run_path("app.py", run_name="__main__")
        (found,) = out.glob("*.template.json")
        return json.loads(found.read_text())

    yield template
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{tmp_path}/"):
            del sys.modules[name]


def test_every_code_of_the_pages_is_a_file_that_is_run_here():
    untitled = re.compile(r"^```(?:python|yaml)$", re.MULTILINE)
    assert [name for name, page in HOW_TO.items() if untitled.search(page)] == []
    are_run = {"app.py", "test_tasks.py", "bring_back.py", "forget.py", "ask.py"}
    assert [name for name in HOW_TO if not are_run & set(FILES[name])] == []


@pytest.mark.prove
@pytest.mark.parametrize("page", having("test_tasks.py"))
def test_the_tests_of_a_page_pass(page, tmp_path):
    options = ["-q", "-p", "no:cacheprovider", "-p", "lifoq.testing.plugin"]
    # Plugins of this clone's other tools take longer to load than the tests of a page.
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    assert " passed" in python(written(page, tmp_path), "-m", "pytest", *options, **alone)


@pytest.mark.prove
@pytest.mark.parametrize("page", sorted({*having("app.py")} - {"ci-cd"}))
def test_the_application_of_a_page_is_synthesized(page, synthesized):
    assert synthesized(page)["Resources"]


@pytest.mark.prove
def test_only_jobs_of_the_environment_may_deploy_and_others_may_look(synthesized):
    roles = [
        json.dumps(resource["Properties"]["AssumeRolePolicyDocument"])
        for resource in synthesized("ci-cd")["Resources"].values()
        if resource["Type"] == "AWS::IAM::Role"
    ]
    jobs = yaml.safe_load(FILES["ci-cd"][".github/workflows/deploy.yml"])["jobs"]
    assert [f"environment:{jobs['deploy']['environment']}" in role for role in roles] == [
        False,
        True,
    ]
    assert "environment" not in jobs["diff"]
    assert jobs["deploy"]["needs"] == "diff"


# Scripts


@pytest.fixture
def new_queue(moto_endpoint, monkeypatch) -> Callable[[], Queue]:
    """With a table of its own, and settings by which its name finds it."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_endpoint)

    def made() -> Queue:
        name = f"queue-{uuid.uuid4().hex[:12]}"
        create_table(boto3.client("dynamodb"), name)
        settings = Connection(table=name, region="us-east-1", lifetimes=Lifetimes())
        boto3.client("ssm").put_parameter(
            Name=f"/lifoq/{name}/queue", Value=settings.encode(), Type="String"
        )
        return Queue.connect(name)

    return made


@pytest.mark.prove
def test_what_is_missing_is_brought_back_and_what_is_there_stays(new_queue, tmp_path):
    backup, now = new_queue(), new_queue()
    for queue in (backup, now):
        queue.put("check", "old", task_id="there")
    now.cancel("there")
    backup.put("check", {"device": 1}, task_id="lost")
    backup.put("check", None, task_id="expired", deadline=0.001)
    time.sleep(1.1)  # TTL's second

    names = [queue.store.table.name for queue in (backup, now)]
    said = python(written("restore", tmp_path), "bring_back.py", *names)

    assert said == "1 tasks brought back\n"
    assert now.get("lost").payload == {"device": 1}
    assert now.get("there").status is Status.CANCELLED
    assert now.get("expired") is None
    assert [task.task_id for task in now.peek()] == ["lost"]


@pytest.mark.prove
def test_all_tasks_of_a_person_are_deleted_but_those_at_work(new_queue, tmp_path):
    queue = new_queue()
    for task_id in ("waits", "delayed", "cancelled", "works"):
        delay = 60 if task_id == "delayed" else None
        queue.put("mail", "Ada", task_id=task_id, key="c-1", delay=delay)
    queue.cancel("cancelled")
    queue.put("mail", "Ada", task_id="expired", key="c-1", deadline=0.001)
    queue.put("mail", "Bob", task_id="another", key="c-2")
    queue.store.claim("works", claim_id="mine", lease=30)

    said = python(written("erase", tmp_path), "forget.py", queue.store.table.name, "c-1")

    assert said == "4 deleted, 1 at work\n"
    own = ("waits", "delayed", "cancelled", "works", "expired")
    kept = [name for name in own if queue.get(name)]
    assert kept == ["works"]
    assert queue.get("another") is not None


@pytest.mark.prove
def test_questions_of_ones_own_are_answered_from_the_tasks_of_a_report(tmp_path):
    second = 1_000_000
    common = {"task_type": "check", "enqueued_at": 0, "attempts": 1}
    done = {**common, "outcome": "succeeded", "task_status": "SUCCESS"}
    shed = {**common, "outcome": "shed", "task_status": "PENDING", "attempts": 0}
    tasks = [
        {**done, "task_id": "1", "task_key": "ada", "wait_us": 1 * second},
        {**done, "task_id": "2", "task_key": "bob", "wait_us": 3 * second},
        {**shed, "task_id": "3", "task_key": "bob"},
        {**shed, "task_id": "4", "task_key": "eve"},
        {**done, "task_id": "5", "wait_us": 2 * second},
        {**shed, "task_id": "6", "outcome": "waiting"},
    ]
    table = tmp_path / "report" / "tasks.parquet"
    table.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(tasks, schema=SCHEMA), table / "part-00000.parquet")

    folder = written("own-questions", tmp_path)
    said = python(folder, "ask.py", "report", "customers.csv", SPARK_LOCAL_IP="127.0.0.1")

    rows = [line.replace(" ", "") for line in said.splitlines() if line.startswith("|")]
    assert rows == [
        "|hour|task_type|tasks|percent_in_time|",
        "|1970-01-0100:00:00|check|5|40.0|",
        "|task_key|tasks|shed|p95_wait_seconds|",
        "|bob|2|1|3.0|",
        "|eve|1|1|NULL|",
        "|ada|1|0|1.0|",
        "|plan|tasks|percent_shed|",
        "|free|3|66.7|",
        "|gold|1|0.0|",
        "|unknown|2|0.0|",
    ]
