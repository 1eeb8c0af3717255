"""The replacement of all that moto does otherwise than AWS."""

from collections.abc import Callable
from functools import cache
from typing import Any

from moto import backends
from moto.core import loaders, utils
from moto.core.config import default_user_config
from moto.iam import models as iam_models
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from lifoq_localcloud.basics.account import ACCOUNT
from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.events.sources import Notification
from lifoq_localcloud.moto_adapter import (
    function_calls,
    refusals,
    rules,
    schedules,
    state_machines,
    subscriptions,
    table_answers,
    tables,
    templates_read,
)
from lifoq_localcloud.moto_adapter.function_calls import Invoke
from lifoq_localcloud.moto_adapter.patch import replace
from lifoq_localcloud.moto_adapter.rules import Hand


def install(
    *,
    credentials: Credentials,
    invoke: Invoke,
    deliver: Callable[[Notification], None],
    hand: Hand,
) -> None:
    """Put the local cloud behind moto's API: functions run, messages arrive, types are known."""
    default_user_config["iam"] = {"load_aws_managed_policies": True}
    tables.install()
    table_answers.install()
    rules.install(hand)
    state_machines.install(credentials)
    function_calls.install(invoke)
    subscriptions.install(deliver)
    refusals.install()
    schedules.install()
    templates_read.install()
    _look_once_for_what_stays()


def moto() -> Any:
    """moto's WSGI application, for all services."""
    return DomainDispatcherApplication(create_backend_app)


def _look_once_for_what_stays() -> None:
    """moto lists its own folder for each call, and that of botocore's models for each service. And
    it looks for the account of an access key in six partitions, for each of which it reads 1,500
    managed policies."""
    modules = frozenset(backends.list_of_moto_modules())
    replace(backends, "list_of_moto_modules", lambda: modules)
    replace(utils, "create_loader", cache(loaders.create_loader))
    replace(iam_models, "get_account_id_from", lambda _access_key: ACCOUNT)
