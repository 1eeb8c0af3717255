"""The reloader of ``lifoq dev``: code that is saved is live within a second or two.

A saved file of a folder that functions run is packaged anew, and handed to those functions through
Lambda's own API, without a synthesis and a deployment. Any other file, for example ``app.py``, is
deployed by the CDK.
"""

import ast
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import watchfiles

from lifoq.environment import Environment, Variable
from lifoq_localcloud.cloud import DeploymentError, DeploymentInterrupted, LocalCloud
from lifoq_localcloud.dev import example_put, importing
from lifoq_localcloud.dev.steps import SYNTHESIS, Steps
from lifoq_project import asset
from lifoq_project.asset import AssetError
from lifoq_project.requirements import Architecture, RequirementsError

PATIENCE_MILLISECONDS: Final = 200
"""Milliseconds for which files have to stay unchanged before they are taken: an editor writes
several times."""


class Sources(watchfiles.DefaultFilter):
    """Files that say what is deployed: not what is generated, installed, hidden, logged, or a
    test."""

    ignore_dirs = (*watchfiles.DefaultFilter.ignore_dirs, "cdk.out", "venv", ".local")
    ignore_entity_patterns = (
        *watchfiles.DefaultFilter.ignore_entity_patterns,
        *(r"^test_", r"^conftest\.py$", r"^cdk\.context\.json$", r"\.(md|lock)$"),
        r"\.(log|out)$",  # to which somebody may send the output of lifoq dev itself
    )


class Reloader:
    """Watches the folder of a CDK application that is deployed to a local cloud."""

    def __init__(self, cloud: LocalCloud, folder: Path, tell: Callable[[str], None]) -> None:
        self._cloud = cloud
        self._folder = folder.resolve()
        self._tell = tell
        self._steps = Steps(tell)
        self.live: Callable[[], None] = lambda: None
        """Called when task code has changed."""
        self.attempts: dict[str, int] = {}
        """The most that a task of a type may have, as the code says that was imported last."""

    def watch(self, ended: threading.Event, deployed: threading.Event) -> None:
        """Until ``ended`` is set. What changes before ``deployed`` is set is applied then."""
        changes = watchfiles.watch(
            self._folder,
            watch_filter=Sources(),
            stop_event=ended,
            debounce=PATIENCE_MILLISECONDS,
            step=PATIENCE_MILLISECONDS // 4,
        )
        for changed in changes:
            deployed.wait()
            self.apply(Path(path) for _, path in changed)

    def apply(self, paths: Iterable[Path]) -> None:
        """Bring what has changed to the functions. What is wrong with it is told, and the code that
        ran goes on running."""
        begun = time.monotonic()
        names = sorted({path.relative_to(self._folder) for path in paths if path.is_file()})
        if not names:
            return  # a folder was made, such as one for a report, or something was deleted
        told = ", ".join(map(str, names[:3])) + (" …" if names[3:] else "")
        with self._steps:
            self._apply(names, told, begun)

    def example(self, *, besides: Collection[str] = ()) -> str | None:
        """Return a command that puts a task; None where there is no task type but ``besides``."""
        types = self.attempts.keys() - set(besides)
        return example_put.command(types, self._folder) if types else None

    def _apply(self, names: list[Path], told: str, begun: float) -> None:
        before = set(self.attempts)
        try:
            self._check(self._folder / name for name in names)
            functions = self._functions()
            packages = {name.parts[0] for name in names}
            if packages <= functions.keys():
                for package in sorted(packages):
                    if wrong := self._problem(package, functions[package]):
                        self._tell(f"{told} is not live: {wrong}")
                        return
                    self._update(package, functions[package])
                self.live()
                done = "is live"
            elif any(len(name.parts) == 1 for name in names):
                self._steps.begin(SYNTHESIS)
                self._cloud.deploy_application(self._folder, self._steps.hear)
                done = "is deployed"
            else:
                return  # nothing that is deployed, such as a test
        except SyntaxError as error:
            self._tell(f"{error.filename} is not live: line {error.lineno}: {error.msg}")
            return
        except DeploymentInterrupted:
            return  # this program ends
        except (AssetError, RequirementsError, DeploymentError) as error:
            self._tell(f"{told} is not live: {error}")
            return
        self._tell(f"{told} {done}, after {time.monotonic() - begun:.1f} s")
        if example := self.example(besides=before):
            self._tell(f"A new task type: {example}")

    def _check(self, files: Iterable[Path]) -> None:
        """SyntaxError, which names the file and the line."""
        for file in files:
            if file.suffix == ".py" and file.is_file():
                ast.parse(file.read_bytes(), str(file.relative_to(self._folder)))

    def check(self) -> None:
        """Tell which of the deployed code cannot be imported."""
        with self._steps:
            for package, functions in self._functions().items():
                if wrong := self._problem(package, functions):
                    self._tell(f"{package} is deployed, but does not run: {wrong}")

    def _problem(self, package: str, functions: list[Any]) -> str | None:
        # Another function whose code is in this folder has no worker's settings.
        function = max(functions, key=lambda one: Variable.WORKER in _variables(one))
        variables = _variables(function)
        self._steps.begin(f"Importing {package}, with the packages that it requires …")
        found = importing.look(
            self._folder / package,
            _module(function),
            runtime=self._cloud.directory / "runtime",
            environment={**variables, **self._cloud.environment()},
        )
        if Variable.WORKER in variables:
            usual = Environment(variables).worker().max_attempts
            self.attempts |= {name: most or usual for name, most in found.attempts.items()}
        return found.problem

    def _functions(self) -> dict[str, list[Any]]:
        """The deployed functions by the folder of this application whose code they run."""
        found: dict[str, list[Any]] = {}
        for function in self._deployed():
            folder = _module(function).partition(".")[0]
            if (self._folder / folder).is_dir():
                found.setdefault(folder, []).append(function)
        return found

    def _deployed(self) -> Iterator[Any]:
        for page in self._cloud.client("lambda").get_paginator("list_functions").paginate():
            yield from page["Functions"]

    def _update(self, package: str, functions: Iterable[Any]) -> None:
        functions_api = self._cloud.client("lambda")
        for function in functions:
            self._steps.begin(f"Packaging {package} for its functions …")
            arm = function.get("Architectures") == ["arm64"]
            architecture: Architecture = "arm64" if arm else "x86_64"
            built = asset.build(self._folder / package, architecture=architecture)
            self._steps.begin(f"Updating the functions that run {package} …")
            functions_api.update_function_code(
                FunctionName=function["FunctionName"], ZipFile=built.path.read_bytes()
            )
            if Variable.TASKS in _variables(function):
                # Tasks may wait that the code before could not do: not for the sweep's minute.
                functions_api.invoke(
                    FunctionName=function["FunctionName"], InvocationType="Event", Payload=b"{}"
                )


def _variables(function: Any) -> dict[str, str]:
    found: dict[str, str] = function.get("Environment", {}).get("Variables", {})
    return found


def _module(function: Any) -> str:
    """The module of task code, or of a handler."""
    return _variables(function).get(Variable.TASKS) or function["Handler"].rpartition(".")[0]
