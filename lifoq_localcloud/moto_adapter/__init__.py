"""The adapter to moto: reads what was deployed, and mends what moto does otherwise than AWS.

moto answers the AWS API, and stores what is made through it. It runs no functions and follows no
streams, schedules, TTL or exports: the other rooms do, and ask here what was deployed. Each module
replaces one part of moto: DynamoDB's tables (``tables``, their ``order``, ``answers``), rules of
EventBridge (``rules``), state machines, and what AWS would refuse (``refusals``). CloudFormation
is in the room ``deployments``. A replacement of something that this version of moto does not have
raises AttributeError (``patch``).
"""

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
from moto.cloudwatch.models import cloudwatch_backends
from moto.core.config import default_user_config
from moto.core.utils import utcnow
from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from moto.scheduler.models import scheduler_backends
from moto.sns.models import Subscription, sns_backends
from moto.sqs.models import sqs_backends
from moto.sts.models import sts_backends

from lifoq_localcloud.basics import threads
from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.events.http_api import Route
from lifoq_localcloud.events.sources import (
    MappingConfig,
    Notification,
    QueueMappingConfig,
    ScheduleConfig,
)
from lifoq_localcloud.functions.function import FunctionConfig, Outcome
from lifoq_localcloud.moto_adapter import answers, refusals, rules, state_machines, tables
from lifoq_localcloud.moto_adapter.patch import replace
from lifoq_localcloud.moto_adapter.rules import Hand

Config = TypeVar("Config")
Invoke = Callable[[str, bytes], Outcome]
"""Run a function, by name, and wait for it."""


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
    answers.install()
    rules.install(hand)
    state_machines.install(credentials)
    original_publish = Subscription.publish

    def publish(
        subscription: Subscription,
        message: str,
        message_id: str,
        subject: str | None = None,
        message_attributes: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if subscription.protocol != "lambda":
            original_publish(
                subscription,
                message,
                message_id,
                subject=subject,
                message_attributes=message_attributes,
                **options,
            )
            return
        matcher = subscription._filter_policy_matcher  # noqa: SLF001 - no public way
        if matcher is not None and not matcher.matches(message_attributes, message):
            return
        redrive = json.loads(subscription.attributes.get("RedrivePolicy") or "{}")
        deliver(
            Notification(
                function_arn=subscription.endpoint,
                subscription_arn=subscription.arn,
                redrive_target=redrive.get("deadLetterTargetArn"),
                topic_arn=subscription.topic.arn,
                message_id=message_id,
                message=message,
                subject=subject,
                attributes=message_attributes or {},
            )
        )

    def run(function: LambdaFunction, body: str, _request: Any, response: dict[str, Any]) -> bytes:
        """For what calls functions inside moto: queues, rules, state machines."""
        outcome = invoke(function.function_name, body.encode() if body else b"{}")
        if outcome.failed:
            response["x-amz-function-error"] = "Unhandled"
        return outcome.payload

    create_mapping = LambdaBackend.create_event_source_mapping

    def create_event_source_mapping(backend: LambdaBackend, spec: dict[str, Any]) -> Any:
        """moto would run the function inside of SendMessage: a mapping's poller does it here."""
        mapping = create_mapping(backend, spec)
        for queue in sqs_backends[ACCOUNT][REGION].queues.values():
            queue.lambda_event_source_mappings.clear()
        return mapping

    replace(LambdaBackend, "create_event_source_mapping", create_event_source_mapping)
    refusals.install()
    replace(Subscription, "publish", publish)
    replace(LambdaFunction, "invoke", run)


def check(resources: Iterable[Any]) -> None:
    """Raises where one of them cannot be followed."""
    for one in resources:
        if isinstance(one, LambdaFunction):
            _function_config(one)
        elif isinstance(one, EventSourceMapping):
            of_queue = ":sqs:" in one.event_source_arn
            _queue_mapping_config(one) if of_queue else _mapping_config(one)


def application() -> Any:
    """moto's WSGI application, for all services."""
    return DomainDispatcherApplication(create_backend_app)


def issued_secret(access_key: str) -> str | None:
    """The secret of a user's active key, or of a role that somebody has assumed for a time that is
    not over; None for any other key."""
    key = iam_backends[ACCOUNT]["aws"].access_keys.get(access_key)
    if key is None or key.status != "Active":
        return None
    session = sts_backends[ACCOUNT]["aws"].get_assumed_role_from_access_key(access_key)
    if session is not None and session.expiration < utcnow():
        return None
    secret: str = key.secret_access_key
    return secret


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


def delete_schedule(schedule: ScheduleConfig) -> None:
    scheduler_backends[ACCOUNT][REGION].delete_schedule(schedule.group, schedule.name)


def send(arn: str, body: str) -> bool:
    """Put a message into a queue or topic. Whether there is such a thing."""
    service, name = arn.split(":")[2], arn.rsplit(":", maxsplit=1)[-1]
    if service == "sqs":
        queues = sqs_backends[ACCOUNT][REGION]
        if name not in queues.queues:
            return False
        queues.send_message(name, body)
        return True
    if service == "sns":
        topics = sns_backends[ACCOUNT][REGION]
        if arn not in topics.topics:
            return False
        topics.publish(body, arn)
        return True
    return False


def put_object(bucket: str, key: str, body: bytes) -> None:
    s3_backends[ACCOUNT]["aws"].put_object(bucket, key, body)


def bucket_exists(bucket: str) -> bool:
    return bucket in s3_backends[ACCOUNT]["aws"].buckets


def put_metrics(namespace: str, data: list[dict[str, Any]]) -> None:
    cloudwatch_backends[ACCOUNT][REGION].put_metric_data(namespace, data)


def deployed_resources() -> dict[str, dict[str, dict[str, Any]]]:
    """The resources of each stack that stands, by logical id, as its template has them."""
    return {
        stack.name: stack.template_dict.get("Resources", {})
        for stack in cloudformation_backends[ACCOUNT][REGION].stacks.values()
        if stack.status not in {"REVIEW_IN_PROGRESS", "DELETE_COMPLETE"}
    }


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
        start=_moment(schedule.start_date),
        end=_moment(schedule.end_date),
        changed=schedule.last_modified_date,
        target=dict(schedule.target),
        delete_after_completion=schedule.action_after_completion == "DELETE",
    )


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    return datetime.fromisoformat(str(value))
