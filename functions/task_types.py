"""The team's task types."""

import importlib

from lifoq.environment import Environment
from lifoq.worker.registry import REGISTRY, Registry


def registered(environment: Environment) -> Registry:
    """The task types, after the import of the module that the environment names; and those that are
    configured."""
    importlib.import_module(environment.tasks)
    if environment.targets is not None:
        from lifoq.targets import configured  # noqa: PLC0415 - not where there is none

        configured.register(REGISTRY, configured.decode(environment.targets))
    return REGISTRY
