"""The team's task types."""

import importlib

from lifoq.environment import Environment
from lifoq.worker.registry import REGISTRY, Registry


def registered(environment: Environment) -> Registry:
    """The task types, after the import of the module that the environment names."""
    importlib.import_module(environment.tasks)
    return REGISTRY
