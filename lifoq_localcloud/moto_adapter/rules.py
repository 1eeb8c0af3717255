"""EventBridge rules whose target is a function: moto delivers to queues and logs only."""

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from moto.events.models import Rule
from moto.events.utils import EventMessageType, EventTemplateParser

from lifoq_localcloud.moto_adapter.patch import replace

Hand = Callable[[str, str], bool]
"""Give an event (JSON text) to a target, by its ARN. Whether there is such a thing."""


def install(hand: Hand) -> None:
    """From now on, what rules match reaches functions, too."""
    original = Rule.send_to_targets

    def send_to_targets(
        rule: Rule, original_event: EventMessageType, *, transform_input: bool = True
    ) -> None:
        others = copy.copy(rule)  # moto refuses an event altogether where a target is a function
        others.targets = [one for one in rule.targets if not _is_function(one)]
        original(others, original_event, transform_input=transform_input)
        if rule.state == "ENABLED" and rule.event_pattern.matches_event(original_event):
            for target in filter(_is_function, rule.targets):
                hand(target["Arn"], _input(target, original_event))

    replace(Rule, "send_to_targets", send_to_targets)


def _is_function(target: dict[str, Any]) -> bool:
    return str(target["Arn"]).split(":")[2] == "lambda"


def _input(target: dict[str, Any], event: EventMessageType) -> str:
    """Return the part of the event that the target asks for: by default, all of it."""
    if constant := target.get("Input"):
        return str(constant)
    if transformer := target.get("InputTransformer"):
        told = EventTemplateParser.parse(
            input_template=transformer["InputTemplate"],
            input_paths_map=transformer.get("InputPathsMap", {}),
            event=event,
        )
        return json.dumps(told)
    whole = {name: value for name, value in event.items() if name != "ingestion-time"}
    at = event["time"]
    if isinstance(at, int | float):
        whole["time"] = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps(whole)
