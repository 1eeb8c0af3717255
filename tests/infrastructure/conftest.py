"""Deployments that several tests look at."""

import json

import pytest

from tests.infrastructure.deployments import EVERYTHING, Deployment, synthesize


@pytest.fixture(scope="session")
def prod() -> Deployment:
    return synthesize("prod")


@pytest.fixture(scope="session")
def demo() -> Deployment:
    return synthesize("demo")


@pytest.fixture(scope="session")
def everything() -> Deployment:
    """A stage with every optional setting in use."""
    return synthesize("prod", json.dumps(EVERYTHING))
