"""Names that stand at two places are the same at both: Pythons, actions, targets of the
Makefile."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import yaml
from aws_cdk import aws_lambda as lambda_

from tests.docs.test_docs import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OLDEST = PYPROJECT["project"]["requires-python"].removeprefix(">=")
OF_LAMBDA = re.findall(r"Runtime\.(PYTHON_\w+)", (ROOT / "lifoq_cdk" / "function.py").read_text())
WORKFLOWS = {
    file.name: file.read_text() for file in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text()
CONTAINER = (ROOT / ".devcontainer" / "devcontainer.json").read_text()


def newest() -> str:
    (name,) = set(OF_LAMBDA)
    return getattr(lambda_.Runtime, name).name.removeprefix("python")


def jobs() -> Iterator[dict[str, Any]]:
    for text in WORKFLOWS.values():
        yield from yaml.safe_load(text)["jobs"].values()


def test_the_oldest_python_is_the_same_wherever_it_is_named():
    assert PYPROJECT["tool"]["mypy"]["python_version"] == OLDEST
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py{OLDEST.replace('.', '')}"
    assert re.findall(r'"image": "python:([\d.]+)-', CONTAINER) == [OLDEST]


def test_github_tests_with_the_oldest_python_and_with_that_of_lambda():
    drawn = [job["strategy"]["matrix"]["python"] for job in jobs() if "strategy" in job]
    assert drawn == [[OLDEST, newest()]] * 2
    fixed = re.findall(r'python-version: "(.+)"', "".join(WORKFLOWS.values()))
    assert fixed == [newest()]


def test_an_action_is_pinned_by_its_commit_and_the_same_in_every_workflow():
    used = re.findall(r"uses: (\S+)@(\S+) # (v[\d.]+)$", "".join(WORKFLOWS.values()), re.MULTILINE)
    assert len(used) == "".join(WORKFLOWS.values()).count("uses:")
    assert all(re.fullmatch(r"[0-9a-f]{40}", commit) for _, commit, _ in used)
    assert len(set(used)) == len({action for action, *_ in used})


def test_every_target_that_workflows_hooks_and_the_container_name_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    texts = [*WORKFLOWS.values(), HOOKS, CONTAINER]
    named = re.findall(r'(?:run: |entry: |": "|name: )make ([a-z-]+)', "\n".join(texts))
    assert set(named) <= targets
    assert {"test", "release", "lint", "types", "setup"} <= set(named)


def test_hooks_are_parts_of_make_check():
    (check,) = re.findall(r"^check: (.+?) ##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    hooks = [hook for repo in yaml.safe_load(HOOKS)["repos"] for hook in repo["hooks"]]
    assert {hook["entry"].removeprefix("make ") for hook in hooks} <= set(check.split())
