"""Deployments, the wheel, and who installed it, which several tests look at."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.infrastructure.commands import run
from tests.infrastructure.deployments import ROOT, Deployment, synthesize, synthesized
from tests.infrastructure.everything import plain
from tests.infrastructure.users import Terminal, User


@pytest.fixture(scope="session")
def prod() -> Deployment:
    return synthesize("prod")


@pytest.fixture(scope="session")
def dev() -> Deployment:
    return synthesize("dev")


@pytest.fixture(scope="session")
def everything() -> Deployment:
    return synthesized(plain())


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """Built without a network: hatchling is among the locked packages."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        *(sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps"),
        *("--no-build-isolation", "--wheel-dir", folder, ROOT),
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def user(wheel, tmp_path_factory) -> User:
    user = User(tmp_path_factory.mktemp("user"))
    user.install(wheel, "dev,analytics")
    return user


@pytest.fixture
def open_terminal(user) -> Iterator[Callable[[Path], Terminal]]:
    with user.terminals() as open_terminal:
        yield open_terminal
