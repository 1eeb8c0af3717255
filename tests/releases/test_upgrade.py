"""Today's code is deployed over a queue of a release that has tasks in every status: on the local
cloud, by the real CDK CLI.

The application is the one that ``lifoq init`` of the release makes. The release, from its wheel,
synthesizes it, does its tasks and puts them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import lifoq
from lifoq import Queue, Status
from lifoq.operating.deployment import Deployment
from lifoq_localcloud import LocalCloud
from tests.infrastructure.deployments import CONTEXT, ROOT
from tests.localcloud.harness import eventually
from tests.releases.release import Release, python, releases, unpacked

pytestmark = pytest.mark.prove

NAME: Final = "pictures"
"""The name of the application's stack, and of its queue."""
TASK_CODE: Final = '''
import os
import time

from lifoq import Fail, task


@task("does")
def do(payload, context):
    return payload


@task("fails")
def fail(payload, context):
    if not os.path.exists(payload):
        raise Fail("not before the upgrade")
    return "after the upgrade"


@task("waits", timeout=50, max_attempts=100)
def wait(payload, context):
    """At work until the upgrade is over, or its time is: then it is tried again."""
    while context.remaining > 5 and not os.path.exists(payload):
        time.sleep(0.1)
    if not os.path.exists(payload):
        raise RuntimeError("not before the upgrade")
    return context.attempt
'''
PUT: Final = """
import sys

from lifoq import Queue

name, file = sys.argv[1:]
queue = Queue.connect(name)
for n in range(3):
    queue.put("does", {"n": n, "long": "the same again " * 100}, task_id=f"done-{n}")
    queue.put("fails", file, task_id=f"failed-{n}", key="k")
    queue.put("does", n, task_id=f"delayed-{n}", delay=3600, head_start=1)
    queue.put("nobody.has", n, task_id=f"waiting-{n}")
    queue.put("nobody.has", n, task_id=f"shed-{n}", deadline=1)
    queue.put("does", n, task_id=f"cancelled-{n}", delay=3600)
    queue.cancel(f"cancelled-{n}")
queue.put("waits", file, task_id="taken")
"""
"""Puts tasks by the release's library."""


@pytest.fixture(params=releases(), ids=lambda one: one.version)
def packages(request, tmp_path) -> Path:
    """The release, as if it were installed."""
    release: Release = request.param
    return unpacked(release.wheel, tmp_path / "release")


@pytest.fixture
def project(packages, tmp_path) -> Path:
    """The application that ``lifoq init`` of the release makes, with task code of this test."""
    folder = tmp_path / NAME
    make = (
        "import sys, pathlib; from lifoq_project import new; new.create(pathlib.Path(sys.argv[1]))"
    )
    python(packages, "-c", make, folder)
    (folder / "tasks" / "__init__.py").write_text(TASK_CODE)
    app = folder / "app.py"
    # However slow this machine is, nothing is shed that is not meant to be.
    app.write_text(app.read_text().replace("minutes(10)", "hours(12)"))
    return folder


@pytest.fixture
def cloud(tmp_path) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path / "cloud") as cloud:
        yield cloud


def test_a_deployed_queue_is_upgraded_in_place_and_loses_no_task(
    packages, project, cloud, tmp_path
):
    upgraded = tmp_path / "upgraded"
    cloud.deploy(synthesized(project, packages, tmp_path / "before"))
    python(packages, "-c", PUT, NAME, upgraded, **cloud.environment())
    queue = Queue.connect(NAME, **cloud.arguments())
    begun = {
        **{f"done-{n}": "SUCCESS" for n in range(3)},
        **{f"failed-{n}": "FAILURE" for n in range(3)},
        **{f"delayed-{n}": "DELAYED" for n in range(3)},
        **{f"waiting-{n}": "PENDING" for n in range(3)},
        **{f"shed-{n}": "SHED" for n in range(3)},
        **{f"cancelled-{n}": "CANCELLED" for n in range(3)},
        "taken": "TAKEN",
    }
    eventually(lambda: {name: status(queue, name) for name in begun} == begun)
    before = deployed(cloud)

    cloud.deploy(synthesized(project, ROOT, tmp_path / "after"))
    upgraded.touch()

    after = deployed(cloud)
    assert after.release == lifoq.__version__
    assert after.stream_mapping == before.stream_mapping
    assert after.functions.items() >= before.functions.items()
    found = {name: status(queue, name) for name in begun}
    assert found == begun | {"taken": found["taken"]}
    assert found["taken"] in {"TAKEN", "SUCCESS", "DELAYED", "PENDING"}  # tried again, or done

    # All go on under today's code.
    for n in range(3):
        queue.redrive(f"failed-{n}")
        queue.run_now(f"delayed-{n}")
    assert queue.wait("taken", timeout=300) >= 1
    assert {queue.wait(f"failed-{n}", timeout=300) for n in range(3)} == {"after the upgrade"}
    assert [queue.wait(f"delayed-{n}", timeout=300) for n in range(3)] == [0, 1, 2]
    assert [queue.wait(f"done-{n}", timeout=0)["n"] for n in range(3)] == [0, 1, 2]
    queue.put("does", "new", task_id="new")
    assert queue.wait("new", timeout=300) == "new"
    assert {queue.cancel(f"waiting-{n}").status for n in range(3)} == {Status.CANCELLED}


def synthesized(project: Path, packages: Path, out: Path) -> Path:
    """Return the project's assembly, as these packages synthesize it."""
    context = {"CDK_CONTEXT_JSON": json.dumps(CONTEXT), "CDK_OUTDIR": str(out)}
    python(packages, "app.py", cwd=project, **context)
    return out


def deployed(cloud: LocalCloud) -> Deployment:
    answer = cloud.client("ssm").get_parameter(Name=f"/lifoq/{NAME}/deployment")
    return Deployment.decode(answer["Parameter"]["Value"], source="the parameter")


def status(queue: Queue, name: str) -> str:
    """Return a task's status. One that is gone was shed: nothing else is over so soon."""
    task = queue.get(name)
    gone = task is None or (task.waiting and task.expired(queue.store.now()))
    return "SHED" if gone else task.status.value
