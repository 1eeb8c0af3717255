"""A group of schedules in EventBridge Scheduler."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Final

from lifoq.basics import jsontext
from lifoq.basics.host import microseconds
from lifoq.basics.numbers import seconds
from lifoq.errors import InvalidInput, QueueMisconfigured, StoreUnavailable
from lifoq.schedules.event import event_of, new_task
from lifoq.schedules.schedule import Schedule
from lifoq.schedules.target import RETRIES, ScheduleTarget, event_age
from lifoq.schedules.when import When

_MOVED: Final = 5
"""Times that a put begins anew, because others made or deleted the schedule in between."""
_OF_TIMES: Final = re.compile("schedule ?expression", re.IGNORECASE)
"""Words of Scheduler's refusals that are about the times."""


class _NotThere(Exception):
    """Raised where there is no such schedule."""


class _Conflict(Exception):
    """Raised where somebody else has made the schedule, or changes it right now."""


class SchedulerGroup:
    """The schedules of one group. ``client_arguments`` go to ``boto3.client``, which is made by the
    first call."""

    def __init__(self, target: ScheduleTarget, *, deadline: float, **client_arguments: Any) -> None:
        """``deadline``: the queue's, in seconds."""
        self._target = target
        self._deadline = deadline
        self._arguments = client_arguments

    def put(self, schedule: Schedule) -> None:
        """Raises InvalidInput where Scheduler refuses the times."""
        wanted = self._request(schedule)
        for _ in range(_MOVED):
            found = self._found(schedule.name)
            if found is not None and _says_the_same(found, wanted):
                return  # to write it again would begin its rate anew
            change = "create_schedule" if found is None else "update_schedule"
            try:
                self._call(change, schedule.name, **wanted)
            except (_NotThere, _Conflict):
                continue
            return
        raise StoreUnavailable(
            f"the schedule {schedule.name!r} is made and deleted by others all the time: repeat it"
        )

    def get(self, name: str) -> Schedule | None:
        """Return the schedule of this name; None if there is none. Raises QueueMisconfigured where
        it is none that this library has made."""
        found = self._found(name)
        return None if found is None else _schedule(name, found)

    def delete(self, name: str) -> bool:
        """Delete a schedule; False if there was none."""
        try:
            self._call("delete_schedule", name)
        except _NotThere:
            return False
        except _Conflict as conflict:
            raise StoreUnavailable(
                f"the schedule {name!r} is being changed: repeat it"
            ) from conflict
        return True

    def names(self, prefix: str) -> Iterator[str]:
        """Yield the names that begin with ``prefix``, a page of them at a time."""
        more: dict[str, str] = {"NamePrefix": prefix} if prefix else {}
        while True:
            answer = self._call("list_schedules", None, **more)
            yield from (one["Name"] for one in answer["Schedules"])
            if not answer.get("NextToken"):
                return
            more["NextToken"] = answer["NextToken"]

    def _request(self, schedule: Schedule) -> dict[str, Any]:
        """Return what CreateSchedule and UpdateSchedule take, all of it: the latter forgets what it
        is not told."""
        target, task = self._target, schedule.task
        deadline = self._deadline if task.deadline is None else seconds("deadline", task.deadline)
        return {
            "ScheduleExpression": schedule.when.expression,
            "ScheduleExpressionTimezone": schedule.when.time_zone,
            "State": "ENABLED",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE" if schedule.when.is_once else "NONE",
            "Target": {
                "Arn": target.function,
                "RoleArn": target.role,
                "Input": jsontext.encode(event_of(task), "payload"),
                # Later than the deadline, the task would be shed on arrival.
                "RetryPolicy": {
                    "MaximumEventAgeInSeconds": event_age(deadline),
                    "MaximumRetryAttempts": RETRIES,
                },
                "DeadLetterConfig": {"Arn": target.dead_letters},
            },
        }

    def _found(self, name: str) -> dict[str, Any] | None:
        try:
            return self._call("get_schedule", name)
        except _NotThere:
            return None

    def _call(self, operation: str, name: str | None, **parameters: Any) -> dict[str, Any]:
        """Call Scheduler. Raises _NotThere, _Conflict, and errors of lifoq."""
        from lifoq.aws.errors import translated  # noqa: PLC0415 - without boto3 where none is made

        client = self._client
        aws_name = client.meta.method_to_api_mapping[operation]
        of_one = {} if name is None else {"Name": name}
        what = "schedules cannot be listed" if name is None else f"schedule {name!r}: {aws_name}"
        meaning = partial(_meaning, self._target.group, operation, parameters)
        with translated(what, operation=aws_name, meaning=meaning):
            answer: dict[str, Any] = getattr(client, operation)(
                GroupName=self._target.group, **of_one, **parameters
            )
        return answer

    @cached_property
    def _client(self) -> Any:
        from lifoq.aws.boto3_clients import new_client  # noqa: PLC0415 - as above
        from lifoq.aws.errors import connecting  # noqa: PLC0415 - as above

        with connecting("EventBridge Scheduler cannot be asked"):
            return new_client("scheduler", **self._arguments)


def _says_the_same(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """True if a schedule says all that is wanted, in whatever order its JSON is."""
    return _says(_in_order(found), _in_order(wanted))


def _in_order(said: dict[str, Any]) -> dict[str, Any]:
    """Return a schedule with the names of its input in the order of the alphabet, if it is JSON."""
    target = said.get("Target") or {}
    try:
        text = json.dumps(json.loads(target["Input"]), sort_keys=True)
    except (LookupError, ValueError, RecursionError):
        return said
    return {**said, "Target": {**target, "Input": text}}


def _says(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """True if all that is wanted is there, and is so; AWS may tell more."""
    return all(
        _says(found.get(name, {}), value) if isinstance(value, dict) else found.get(name) == value
        for name, value in wanted.items()
    )


def _schedule(name: str, found: dict[str, Any]) -> Schedule:
    changed: datetime | None = found.get("LastModificationDate")
    try:
        task = new_task(json.loads(found["Target"]["Input"]))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise QueueMisconfigured(
            f"the schedule {name!r} is none that lifoq has made ({error}): delete it"
        ) from error
    return Schedule(
        name=name,
        when=When(found["ScheduleExpression"], found.get("ScheduleExpressionTimezone") or "UTC"),
        task=task,
        enabled=found.get("State") != "DISABLED",
        changed_at=None if changed is None else microseconds(changed.timestamp()),
    )


def _meaning(
    group: str, operation: str, parameters: dict[str, Any], error: Any
) -> Exception | None:
    """Translate what Scheduler answers to one call."""
    from lifoq.aws.errors import DENIED, code_of, message_of  # noqa: PLC0415 - as above

    code, message = code_of(error), message_of(error)
    meanings: dict[str, Exception] = {
        "ConflictException": _Conflict(),
        "ResourceNotFoundException": _NotThere(),
        "ServiceQuotaExceededException": QueueMisconfigured(
            f"no more schedules may be made: {message}"
        ),
    }
    if operation in ("create_schedule", "list_schedules"):  # which ask for no schedule by its name
        meanings["ResourceNotFoundException"] = QueueMisconfigured(
            f"there is no schedule group {group} in this account and region: deploy the queue with "
            "schedules=True, and connect anew"
        )
    if (expression := parameters.get("ScheduleExpression")) is not None:
        # Scheduler has one code for the times and for the target: its role, say.
        of_times = _OF_TIMES.search(message) is not None
        meanings["ValidationException"] = (
            InvalidInput("when", expression, message)
            if of_times
            else QueueMisconfigured(f"EventBridge Scheduler refuses the schedule: {message}")
        )
    if code in DENIED:
        return QueueMisconfigured(
            "this caller may not make, read or delete schedules of the queue: let it by "
            f"grant_schedule ({message})"
        )
    return meanings.get(code)
