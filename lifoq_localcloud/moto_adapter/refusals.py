"""Refusals that depend on what there is, or on how the local cloud reads it: moto makes none.

Schedules, filters and code that nothing can run with; mappings that do not fit their queue; names
of buckets and keys. They are refused when they are made or changed, in whatever way, and a
deployment with one is rolled back. What a call alone tells is refused by ``service_rules``.
"""

import io
import json
import re
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from moto.awslambda.exceptions import InvalidParameterValueException, LambdaClientError
from moto.awslambda.models import LambdaBackend, LambdaFunction
from moto.core.exceptions import JsonRESTError
from moto.dynamodbstreams.models import DynamoDBStreamsBackend
from moto.events.models import EventsBackend
from moto.s3.exceptions import (
    InvalidBucketName,
    InvalidContinuationToken,
    NoSuchUpload,
    S3ClientError,
)
from moto.s3.models import S3Backend
from moto.scheduler.exceptions import ScheduleGroupNotFound, ValidationException
from moto.scheduler.models import EventBridgeSchedulerBackend
from moto.sqs.models import sqs_backends

from lifoq.schedules.expression import (
    At,
    Expression,
    InvalidExpressionError,
    UnsupportedExpressionError,
    parse,
)
from lifoq_localcloud.moto_adapter.deployed import moment
from lifoq_localcloud.moto_adapter.patch import replace
from lifoq_localcloud.service_rules import event_rules

_BUCKET: Final = re.compile(r"(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
"""A bucket's name
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html)."""
_MOST_KEY_BYTES: Final = 1_024
_MOST_TARGETS: Final = 5
_MOST_EXECUTIONS: Final = 1_000
_LEAST_UNRESERVED: Final = 100
"""An account's concurrent executions by default, and the part of them that stays unreserved
(https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html)."""
_GRACE: Final = timedelta(minutes=1)
"""Schedules are as exact as a minute."""
_OF_CODE: Final = ("code", "code_bytes", "code_size", "code_sha_256", "code_digest")


def install() -> None:
    """Look at what comes before moto stores it."""
    for name in ("create_schedule", "update_schedule"):
        _look_first(EventBridgeSchedulerBackend, name, _check_schedule)
    for name in ("create_event_source_mapping", "update_event_source_mapping"):
        _look_first(LambdaBackend, name, _check_filters)
    _look_first(LambdaBackend, "create_event_source_mapping", _check_source)
    _look_first(LambdaBackend, "put_function_concurrency", _check_concurrency)
    _look_first(EventsBackend, "put_targets", _check_targets)
    _look_first(S3Backend, "create_bucket", _check_bucket)
    _look_first(S3Backend, "put_object", _check_key)
    for name in ("update_event_source_mapping", "delete_event_source_mapping"):
        _look_first(LambdaBackend, name, _check_mapping)
    _look_first(EventBridgeSchedulerBackend, "delete_schedule_group", _check_group)
    _look_first(S3Backend, "upload_part", _check_upload)
    _look_first(S3Backend, "list_objects_v2", _check_continuation)
    _look_first(DynamoDBStreamsBackend, "get_records", _check_iterator)
    _look_first(DynamoDBStreamsBackend, "get_shard_iterator", _check_shard)
    put_events = EventsBackend.put_events

    def put_allowed_events(backend: EventsBackend, events: list[dict[str, Any]]) -> list[Any]:
        """Answer for each event in its place, as one that is refused stops no other."""
        refused = [event_rules.refused_entry(event) for event in events]
        taken = iter(
            put_events(
                backend, [one for one, told in zip(events, refused, strict=True) if not told]
            )
        )
        return [told or next(taken) for told in refused]

    replace(EventsBackend, "put_events", put_allowed_events)
    set_code = LambdaFunction._set_function_code  # noqa: SLF001 - no public way

    def set_function_code(function: LambdaFunction, updated_spec: dict[str, Any]) -> None:
        before = {name: value for name, value in vars(function).items() if name in _OF_CODE}
        before = {**before, "code": dict(function.code)}
        try:
            set_code(function, updated_spec)
            _check_code(function)
        except Exception:
            vars(function).update(before)
            raise

    replace(LambdaFunction, "_set_function_code", set_function_code)


def _look_first(owner: Any, name: str, check: Any) -> None:
    original = getattr(owner, name)

    def changed(backend: Any, *arguments: Any, **named: Any) -> Any:
        check(backend, *arguments, **named)
        return original(backend, *arguments, **named)

    replace(owner, name, changed)


def _check_schedule(
    backend: EventBridgeSchedulerBackend,
    *,
    schedule_expression: str,
    schedule_expression_timezone: str | None,
    group_name: str | None,
    end_date: Any,
    state: str | None,
    **_: Any,
) -> None:
    if group_name and group_name not in backend.schedule_groups:
        raise ScheduleGroupNotFound(group_name)
    try:
        parsed = parse(schedule_expression, schedule_expression_timezone or "UTC")
    except UnsupportedExpressionError:
        return  # AWS takes it; the inventory names it
    except InvalidExpressionError as error:
        raise ValidationException(str(error)) from error
    if state != "DISABLED":
        _check_not_over(schedule_expression, parsed, moment(end_date))


def _check_not_over(text: str, parsed: Expression, end: datetime | None) -> None:
    """Refuse a schedule that would never fire: its only time, or its end, has passed."""
    latest = datetime.now(UTC) - _GRACE
    if isinstance(parsed, At) and parsed.when < latest:
        raise ValidationException(f"Invalid Schedule Expression {text}. Its time has passed.")
    if end is not None and end.replace(tzinfo=end.tzinfo or UTC) < latest:
        raise ValidationException("The EndDate you specify must be in the future.")


def _check_filters(_backend: LambdaBackend, *arguments: Any, **named: Any) -> None:
    spec: dict[str, Any] = named.get("spec") or arguments[-1]
    for one in (spec.get("FilterCriteria") or {}).get("Filters") or []:
        pattern = one.get("Pattern", "{}")
        try:
            found = json.loads(pattern)
        except (ValueError, RecursionError, TypeError):
            found = None
        if not _is_pattern(found):
            raise InvalidParameterValueException(
                f"Invalid filter pattern definition: {pattern} has to be a JSON object of lists, "
                "or of objects of lists."
            )


def _check_source(backend: LambdaBackend, spec: dict[str, Any]) -> None:
    """Hold a mapping against its queue and its function, and against the mappings there are."""
    source = str(spec.get("EventSourceArn"))
    function = backend.get_function(spec["FunctionName"])
    for one in backend.list_event_source_mappings(source, function.function_name):
        told = (
            f'The event source arn (" {source} ") and function (" {function.function_name} ") '
            "provided mapping already exists. Please update or delete the existing mapping with "
            f"UUID {one.uuid}"
        )
        refusal = LambdaClientError("ResourceConflictException", told)
        refusal.code = 409
        raise refusal
    if not source.startswith("arn:aws:sqs:"):
        return
    queues = sqs_backends[backend.account_id][backend.region_name].queues
    queue = queues.get(source.rsplit(":", 1)[-1])
    if queue is None:
        raise InvalidParameterValueException(
            "Error occurred while ReceiveMessage. SQS Error Code: "
            "AWS.SimpleQueueService.NonExistentQueue. SQS Error Message: The specified queue does "
            "not exist."
        )
    hidden = int(vars(queue)["visibility_timeout"])
    if hidden < int(function.timeout):
        raise InvalidParameterValueException(
            f"Queue visibility timeout: {hidden} seconds is less than Function timeout: "
            f"{function.timeout} seconds"
        )


def _check_concurrency(backend: LambdaBackend, function_name: str, reserved: Any) -> None:
    """Leave the account what no function may reserve of its concurrent executions."""
    name = backend.get_function(function_name).function_name
    others = (one for one in backend.list_functions() if one.function_name != name)
    sum_of_others = sum(int(one.reserved_concurrency or 0) for one in others)
    if sum_of_others + int(reserved) > _MOST_EXECUTIONS - _LEAST_UNRESERVED:
        raise InvalidParameterValueException(
            "Specified ReservedConcurrentExecutions for function decreases account's "
            f"UnreservedConcurrentExecution below its minimum value of [{_LEAST_UNRESERVED}]."
        )


def _check_targets(
    backend: EventsBackend, name: str, event_bus_arn: str | None, targets: list[dict[str, Any]]
) -> None:
    bus = backend.event_buses.get((event_bus_arn or "default").rsplit("/", 1)[-1])
    rule = bus.rules.get(name) if bus is not None else None
    known = {one["Id"] for one in rule.targets} if rule is not None else set()
    if len(known | {one["Id"] for one in targets}) > _MOST_TARGETS:
        raise JsonRESTError(
            "LimitExceededException",
            "The requested resource exceeds the maximum number allowed: a rule has "
            f"{_MOST_TARGETS} targets",
        )


def _check_mapping(backend: LambdaBackend, uuid: str, *_: Any, **_more: Any) -> None:
    if backend.get_event_source_mapping(uuid) is None:
        refusal = LambdaClientError(
            "ResourceNotFoundException", "The resource you requested does not exist."
        )
        refusal.code = 404
        raise refusal


def _check_group(backend: EventBridgeSchedulerBackend, name: str | None) -> None:
    if name not in backend.schedule_groups:
        raise ScheduleGroupNotFound(str(name))


def _check_upload(
    backend: S3Backend, bucket_name: str, multipart_id: str, *_: Any, **_more: Any
) -> None:
    if multipart_id not in backend.get_bucket(bucket_name).multiparts:
        raise NoSuchUpload(multipart_id)


def _check_continuation(backend: S3Backend, *_: Any, **named: Any) -> None:
    token = named.get("continuation_token")
    if token is not None and token not in backend._pagination_tokens:  # noqa: SLF001
        raise InvalidContinuationToken


def _check_iterator(backend: DynamoDBStreamsBackend, iterator_arn: str, *_: Any) -> None:
    if iterator_arn not in backend.shard_iterators:
        raise JsonRESTError("ValidationException", "Invalid ShardIterator")


def _check_shard(
    backend: DynamoDBStreamsBackend, arn: str, shard_id: str, *_: Any, **_more: Any
) -> None:
    name = arn.split(":")[5].split("/")[1]
    shard = backend.dynamodb.get_table(name).stream_shard
    if shard is None or shard.id != shard_id:
        raise JsonRESTError(
            "ResourceNotFoundException",
            f"Requested resource not found: Shard {shard_id} in Stream {arn} not found",
        )


def _check_bucket(_backend: S3Backend, bucket_name: str, *_: Any, **_more: Any) -> None:
    if not _BUCKET.fullmatch(bucket_name):
        raise InvalidBucketName


def _check_key(
    _backend: S3Backend, _bucket_name: str, key_name: str, *_: Any, **_more: Any
) -> None:
    if len(key_name.encode()) > _MOST_KEY_BYTES:
        raise S3ClientError("KeyTooLongError", "Your key is too long")


def _is_pattern(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(inner, list) or _is_pattern(inner) for inner in value.values()
    )


def _check_code(function: LambdaFunction) -> None:
    if "ImageUri" in function.code:
        return
    try:
        zipfile.ZipFile(io.BytesIO(function.code_bytes)).close()
    except zipfile.BadZipFile as error:
        raise InvalidParameterValueException(
            "Could not unzip uploaded file. Please check your file, then try to upload again."
        ) from error
