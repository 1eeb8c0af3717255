"""A function's start has a ceiling, so that what it loads does not grow unnoticed.

The ceilings are bytes of code and numbers of files, since they do not depend on the machine.
Docstrings and comments do not count: nobody should save words for the sake of a start.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from benchmarks.coldstart.sandbox import SERVICES, Sandbox, lay_out
from lifoq.environment import Variable
from lifoq.health import open_tasks_of_worker_groups
from lifoq.targets.configured import encode
from lifoq.targets.function import LambdaTarget
from lifoq.targets.https import HttpsTarget

CEILINGS = {
    "trigger": (322_000, 82),
    "process_tasks": (630_000, 165),
    "sweep": (518_000, 132),
    "create_tasks": (455_000, 112),
    "ingest": (465_000, 115),
    "api": (526_000, 131),
    "task_events": (374_000, 94),
}
"""Bytes of code and files, some five per cent above what they are. Lambda's asset folder is
read-only: Python compiles what it imports from there at every start."""
MOST_STARTED = ("trigger", "process_tasks")
"""The functions that start with every task, or for every run."""
EVERYTHING = {
    Variable.TARGETS: encode(
        {
            "over HTTPS": HttpsTarget(
                url="https://shop.example", secret_headers={"X-Key": "a-secret"}, timeout=10
            ),
            "a function": LambdaTarget(
                function_arn="arn:aws:lambda:us-east-1:123456789012:function:resize", timeout=10
            ),
        }
    ),
    Variable.BUCKET: "payloads",
    Variable.LONG_TASKS: open_tasks_of_worker_groups.encode({"slow": ["encode"]}),
}
"""Beside what the benchmark's environment has: what may be switched on."""
PACKAGES = {
    *("aws_lambda_powertools", "botocore", "jmespath", "lifoq", "lifoq_functions"),
    "typing_extensions",
}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory) -> Sandbox:
    return lay_out(tmp_path_factory.mktemp("lambda"))


class WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


@cache
def code_bytes(file: Path) -> int:
    return len(ast.unparse(WithoutDocstrings().visit(ast.parse(file.read_text()))).encode())


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(name, marks=[] if name in MOST_STARTED else [pytest.mark.prove])
        for name in SERVICES
    ],
)
def test_a_start_imports_no_more_of_the_asset_than_it_needs(sandbox, function):
    found = sandbox.start(function)

    most_code, most_files = CEILINGS[function]
    loaded = found["asset_files"]
    assert sum(code_bytes(sandbox.task / file) for file in loaded) <= most_code
    assert len(loaded) <= most_files
    assert not found["reads_boto3"]
    # Next to nothing of a start is garbage; later on, it is looked for.
    assert found["collections"] <= 1
    assert found["collects"]
    others = {name for name in SERVICES if name != function}
    assert not [
        file for file in found["asset_files"] if file.split("/")[1:2] in [[o] for o in others]
    ]


@pytest.mark.prove
@pytest.mark.parametrize("function", SERVICES)
def test_a_start_with_everything_switched_on_imports_these_packages(sandbox, function):
    """And of botocore its errors: boto3 is imported when a secret, a function or a large payload is
    first asked for."""
    found = sandbox.start(function, variables=EVERYTHING)
    assert {*found["packages"]} == PACKAGES
    assert not found["reads_boto3"]
