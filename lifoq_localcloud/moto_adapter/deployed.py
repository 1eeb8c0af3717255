"""The configuration of everything that is deployed, read from moto for the rooms that run it."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from moto.apigatewayv2.models import apigatewayv2_backends
from moto.awslambda.exceptions import UnknownFunctionException
from moto.awslambda.models import EventSourceMapping, LambdaBackend, LambdaFunction
from moto.awslambda.utils import get_backend as lambda_backend
from moto.cloudformation.models import cloudformation_backends
from moto.scheduler.models import scheduler_backends

from lifoq_localcloud.basics import threads
from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.events.http_api import Route
from lifoq_localcloud.events.sources import MappingConfig, QueueMappingConfig, ScheduleConfig
from lifoq_localcloud.functions.function import FunctionConfig

Config = TypeVar("Config")


def functions() -> list[FunctionConfig]:
    return _read(_function_config, _lambda().list_functions())


def function_code(name: str) -> bytes:
    """The asset as it was uploaded: a zip archive."""
    code: bytes = _lambda().get_function(name).code_bytes
    return code


def invoke_config(name: str) -> Mapping[str, Any]:
    """The function's settings for asynchronous invocation; empty if it has none."""
    try:
        configs = _lambda().get_function(name).event_invoke_config
    except UnknownFunctionException:  # deleted while it ran
        return {}
    return configs[-1].config if configs else {}


def mappings() -> list[MappingConfig]:
    return _read(_mapping_config, _mappings_of("dynamodb"))


def queue_mappings() -> list[QueueMappingConfig]:
    return _read(_queue_mapping_config, _mappings_of("sqs"))


def http_routes(api_id: str) -> list[Route] | None:
    """The routes of an HTTP API; None where there is none."""
    api = apigatewayv2_backends[ACCOUNT][REGION].apis.get(api_id)
    if api is None:
        return None
    return [
        Route(
            key=route.route_key,
            function_arn=api.integrations[
                route.target.removeprefix("integrations/")
            ].integration_uri,
            public=route.authorization_type in {None, "NONE"},
        )
        for route in list(api.routes.values())
    ]


def schedules() -> list[ScheduleConfig]:
    groups = list(scheduler_backends[ACCOUNT][REGION].schedule_groups.values())
    found = [one for group in groups for one in list(group.schedules.values())]
    return _read(_schedule_config, found)


def deployed_resources() -> dict[str, dict[str, dict[str, Any]]]:
    """The resources of each stack that stands, by logical id, as its template has them."""
    return {
        stack.name: stack.template_dict.get("Resources", {})
        for stack in cloudformation_backends[ACCOUNT][REGION].stacks.values()
        if stack.status not in {"REVIEW_IN_PROGRESS", "DELETE_COMPLETE"}
    }


def check(resources: Iterable[Any]) -> None:
    """Raises where one of them cannot be followed."""
    for one in resources:
        if isinstance(one, LambdaFunction):
            _function_config(one)
        elif isinstance(one, EventSourceMapping):
            of_queue = ":sqs:" in one.event_source_arn
            _queue_mapping_config(one) if of_queue else _mapping_config(one)


def _lambda() -> LambdaBackend:
    return lambda_backend(ACCOUNT, REGION)


def _mappings_of(service: str) -> list[EventSourceMapping]:
    found = _lambda().list_event_source_mappings("", "")
    return [one for one in found if f":{service}:" in one.event_source_arn]


def _read(read: Callable[[Any], Config], found: Iterable[Any]) -> list[Config]:
    """Read a configuration from each of moto's things. One that cannot be read is logged, and the
    others are followed."""
    configs: list[Config] = []

    def follow(one: Any) -> None:
        configs.append(read(one))

    for one in found:
        name = getattr(one, "arn", None) or one.function_arn
        threads.attempt(f"what follows {name}", partial(follow, one))
    return configs


def _function_config(function: LambdaFunction) -> FunctionConfig:
    reserved = function.reserved_concurrency
    return FunctionConfig(
        name=function.function_name,
        arn=function.function_arn,
        handler=function.handler or "",
        runtime=function.run_time or "",
        code_digest=base64.b64decode(function.code_sha_256 or "").hex(),
        environment={k: str(v) for k, v in (function.environment_vars or {}).items()},
        timeout_seconds=float(function.timeout),
        memory_megabytes=int(function.memory_size),
        reserved_concurrency=None if reserved is None else int(reserved),
        logging=getattr(function, "logging_config", {}),
    )


def _mapping_config(mapping: Any) -> MappingConfig:
    destination = (mapping.destination_config or {}).get("OnFailure") or {}
    retries = mapping.max_retry_attempts
    age = mapping.max_record_age
    return MappingConfig(
        **_source(mapping),
        max_record_age_seconds=None if age is None or int(age) < 0 else int(age),
        max_retries=None if retries is None or int(retries) < 0 else int(retries),
        bisect=str(mapping.bisect_on_error).lower() == "true",
        on_failure=destination.get("Destination"),
    )


def _queue_mapping_config(mapping: Any) -> QueueMappingConfig:
    return QueueMappingConfig(**_source(mapping))


def _source(mapping: Any) -> dict[str, Any]:
    criteria = (mapping.filter_criteria or {}).get("Filters") or []
    return {
        "uuid": mapping.uuid,
        "enabled": str(mapping.enabled).lower() != "false",
        "function_name": mapping.function_arn.split(":")[6],
        "source_arn": mapping.event_source_arn,
        "batch_size": int(mapping.batch_size),
        "window_seconds": float(mapping.max_batch_window or 0),
        "filters": tuple(json.loads(one["Pattern"]) for one in criteria),
        "report_item_failures": "ReportBatchItemFailures"
        in (mapping.function_response_types or []),
    }


def _schedule_config(schedule: Any) -> ScheduleConfig:
    return ScheduleConfig(
        arn=schedule.arn,
        name=schedule.name,
        group=schedule.group_name,
        expression=schedule.schedule_expression,
        timezone=schedule.schedule_expression_timezone or "UTC",
        enabled=(schedule.state or "ENABLED") == "ENABLED",
        start=moment(schedule.start_date),
        end=moment(schedule.end_date),
        changed=schedule.last_modified_date,
        target=dict(schedule.target),
        delete_after_completion=schedule.action_after_completion == "DELETE",
    )


def moment(value: Any) -> datetime | None:
    """Return a date of a schedule, which is epoch seconds or text; None where there is none."""
    if value is None:
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    return datetime.fromisoformat(str(value))
