"""The files that ``pip install`` brings: one wheel, whose names are its own, and which is typed."""

import sys
import zipfile
from pathlib import Path

import pytest

from tests.infrastructure.commands import run

CALLER = """
import importlib.util
from typing import Any

import lifoq
from lifoq import Context, NewTask, Queue

assert importlib.util.find_spec("boto3") is None
registry = lifoq.Registry()


@registry.task("greet")
def greet(payload: Any, context: Context) -> str:
    return f"Hello, {payload} {context.attempt}"


queue = Queue.in_memory()
outcomes: list[lifoq.PutOutcome] = queue.put_many([NewTask(task_type="greet")])
greeted: lifoq.Task = queue.put("greet", "world")
lifoq.Processor(queue.store, registry, lifoq.WorkerSettings()).run()
print(queue.wait(greeted.task_id, timeout=1))
"""


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory) -> Path:
    """The Python of an environment that has the wheel, and nothing else: not even boto3."""
    folder = tmp_path_factory.mktemp("bare")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    run(
        *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"),
        *("--python", python, wheel),
    )
    return python


def test_all_top_level_names_begin_with_lifoq_and_callers_find_types(wheel):
    files = zipfile.ZipFile(wheel).namelist()
    names = {name.split("/")[0] for name in files}

    typed = {f"{name}/py.typed" for name in ("lifoq", "lifoq_cdk", "lifoq_project")}
    assert {*typed, "lifoq/__init__.pyi"} <= {*files}
    assert {name for name in names if not name.endswith(".dist-info")} == {
        "lifoq",
        "lifoq_analytics",
        "lifoq_cdk",
        "lifoq_cli",
        "lifoq_console",
        "lifoq_functions",
        "lifoq_localcloud",
        "lifoq_project",
    }


def test_no_code_in_the_wheel_imports_what_only_the_repository_has(wheel):
    archive = zipfile.ZipFile(wheel)
    for name in archive.namelist():
        if name.endswith(".py"):
            for package in ("functions", "analytics", "stacks", "lab", "tests"):
                text = archive.read(name).decode()
                assert f"\nfrom {package}" not in text, name
                assert f"\nimport {package}" not in text, name


@pytest.mark.prove
def test_a_callers_code_runs_in_memory_without_boto3_and_passes_strict_mypy(bare, tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)

    assert run(bare, "caller.py", cwd=tmp_path) == "Hello, world 1\n"
    run(
        *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", bare),
        "caller.py",
        cwd=tmp_path,
    )


def test_what_lambda_and_spark_need_is_packaged_from_the_installed_wheel(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    tasks = tmp_path / "functions"  # a name that others may use
    tasks.mkdir()
    (tasks / "__init__.py").write_text("")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from lifoq_project import asset\n"
        "assert asset.__file__.startswith(sys.argv[1])\n"
        "print(asset.build(Path('functions')).path)\n"
        "print(asset.build_report().path)\n"
        "print(asset.handler('trigger'))"
    )
    printed = run(sys.executable, "-c", script, tmp_path / "site", cwd=tmp_path)

    functions, report, handler = printed.splitlines()
    names = set(zipfile.ZipFile(functions).namelist())
    assert handler == "lifoq_functions.trigger.handler.handle"
    assert {"lifoq_functions/trigger/handler.py", "functions/__init__.py"} <= names
    assert "lifoq/client/queue.py" in names
    assert {
        "lifoq_analytics/report.py",
        "lifoq_analytics/page/page.html.j2",
        "lifoq/items/schema.py",
    } <= set(zipfile.ZipFile(report).namelist())
