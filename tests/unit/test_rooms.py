"""The rooms: a lower one imports from no higher one, and no module imports itself by way of others,
not even where type checkers alone look. Importing lifoq is cheap."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import lifoq

ROOT = Path(__file__).parents[2]
LIBRARY = ("errors", "metrics", "basics", "items", "ingest", "store", "aws", "schedules", "health")
LIBRARY += ("ends",)
WORKER = (
    "handlers",
    "settings",
    "known_types",
    "gates",
    "backlog",
    "process_state",
    "run",
    "sweep",
)
LIBRARY += ("telemetry", *(f"worker.{room}" for room in WORKER), "worker", "targets")
LIBRARY += ("environment", "client", "operating", "api")
CLOUD = ("basics", "http_server", "tables", "table_rules", "expressions", "item_requests")
CLOUD += (
    "service_rules",
    "functions",
    "events",
    "moto_adapter",
    "deployments",
    "api",
    "cloud",
    "dev",
)
ROOMS = (
    *(f"lifoq.{room}" for room in LIBRARY),
    *("lifoq", "lifoq_project", "lifoq_functions", "lifoq_analytics", "lab", "lifoq_cdk"),
    *("lifoq_cli", "lifoq_console", *(f"lifoq_localcloud.{room}" for room in CLOUD)),
    "lifoq_localcloud",
    *("stacks", "app", "benchmarks"),
)
"""From the lowest to the highest. ``lifoq`` is what lies on top of the library's rooms: the public
names, the test kit."""


INSIDE = {"lifoq_functions": "functions", "lifoq_analytics": "analytics"}
"""The folders of packages that do not lie at the top."""


def modules() -> Iterator[tuple[str, Path]]:
    for room in (room for room in ROOMS if "." not in room):
        place = ROOT / INSIDE.get(room, ".")
        for path in (*(place / room).rglob("*.py"), *place.glob(f"{room}.py")):
            name = ".".join(path.relative_to(place).with_suffix("").parts)
            yield name.removesuffix(".__init__"), path


MODULES = dict(modules())


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield those below it, in whatever depth, but no expressions: a fifth of the time."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


@cache
def imported(module: str) -> frozenset[str]:
    return frozenset(_imported(module))


def _imported(module: str) -> Iterator[str]:
    path = MODULES[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*above, *(node.module or "").split(".")]).removesuffix(".")
            names = [f"{source}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else source for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.fixture(scope="module")
def imports() -> Mapping[str, frozenset[str]]:
    """The modules of the product that each of them imports."""
    return {module: imported(module) & {*MODULES} - {module} for module in MODULES}


def floor(module: str) -> int:
    own = [room for room in ROOMS if f"{module}.".startswith(f"{room}.")]
    return ROOMS.index(max(own, key=len))


def test_no_room_imports_from_a_higher_one_and_constructs_and_local_cloud_not_from_each_other(
    imports,
):
    """``lifoq_project`` is what these two stand on."""
    arrows = [(a, b) for a, names in imports.items() for b in names]
    assert [(a, b) for a, b in arrows if floor(b) > floor(a)] == []
    apart = {"lifoq_cdk", "lifoq_localcloud"}
    assert [pair for pair in arrows if {one.split(".")[0] for one in pair} == apart] == []


def test_no_module_imports_itself_by_way_of_others(imports):
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as circle:
        pytest.fail(" ← ".join(circle.args[1]))


def test_only_one_room_of_the_library_calls_aws_by_boto3():
    callers = {
        module
        for module in MODULES
        if any(name.partition(".")[0] in ("boto3", "botocore") for name in imported(module))
    }
    assert {one for one in callers if f"{one}.".startswith("lifoq.")} == {
        one for one in callers if one.startswith("lifoq.aws.")
    }


def test_the_architecture_page_says_where_each_room_is():
    text = (ROOT / "docs" / "architecture.md").read_text()
    places = [room.replace(".", "/") for room in ROOMS if not room.startswith("lifoq_localcloud.")]
    told = [place for place in places if f"{place}/" in text or f"{place}.py" in text]
    assert [*{*places} - {*told}] == []


def test_nothing_lies_outside_the_rooms():
    found = {
        path.stem for path in (ROOT / "lifoq").iterdir() if not path.name.startswith("__pycache__")
    }
    rooms = {room.split(".")[0] for room in LIBRARY}
    assert found == {*rooms, "__init__", "py", "testing"}


def test_task_code_and_a_queue_in_memory_need_no_boto3_and_a_name_is_loaded_when_it_is_asked_for():
    code = (
        "import sys, lifoq\n"
        "found = lambda *names: print(*(name for name in names if name in sys.modules))\n"
        "lifoq.task\n"
        "found('lifoq.worker.handlers.registry', 'lifoq.client.queue')\n"
        "from lifoq import *\n"
        "Queue.in_memory().put('a')\n"
        "found('lifoq.client.queue', 'boto3', 'botocore')"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["lifoq.worker.handlers.registry", "lifoq.client.queue"]


def test_every_public_name_is_there_and_a_wrong_one_is_told():
    assert all(getattr(lifoq, name) for name in lifoq.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Quene'"):
        _ = lifoq.Quene
