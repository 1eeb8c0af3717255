"""The team's task types, and one more."""

import importlib
from typing import Any

from lifoq.environment import Environment
from lifoq.errors import Fail, Retry
from lifoq.items.schema import SMOKE_TYPE
from lifoq.worker.handlers.registry import REGISTRY, Registry


def registered(environment: Environment) -> Registry:
    """The task types, after the import of the module that the environment names; and those that are
    configured."""
    importlib.import_module(environment.tasks)
    if environment.targets is not None:
        from lifoq.targets import configured  # noqa: PLC0415 - not where there is none

        configured.register(REGISTRY, configured.decode(environment.targets))
    if REGISTRY.get(SMOKE_TYPE) is None:
        REGISTRY.task(SMOKE_TYPE)(smoke)
    return REGISTRY


def smoke(payload: Any, context: Any) -> Any:
    """The task type of `lifoq smoke`, which sees a deployed queue at work by it."""
    if payload.get("fails"):
        raise Fail("as it was asked to")
    if context.attempt <= payload.get("retries", 0):
        raise Retry("as it was asked to", after=1)
    return payload.get("answer")
