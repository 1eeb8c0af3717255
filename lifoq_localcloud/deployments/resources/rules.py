"""EventBridge's rules."""

import json

from moto.core.common_models import CloudFormationModel
from moto.events.models import Rule

from lifoq_localcloud.deployments.resources.resource import Properties, client


class DeployedRule(Rule, CloudFormationModel):
    """moto's rule. For each change moto would make another one, by another name."""

    CHANGES = frozenset(
        {"Description", "EventPattern", "RoleArn", "ScheduleExpression", "State", "Targets"}
    )

    @classmethod
    def change(cls, resource: Rule, properties: Properties, before: Properties) -> None:
        events = client("events")
        named = {"EventBusName": properties.get("EventBusName", "default")}
        texts = ("Description", "RoleArn", "ScheduleExpression", "State")
        given = {name: properties[name] for name in texts if name in properties}
        if pattern := properties.get("EventPattern"):
            given["EventPattern"] = json.dumps(pattern)
        events.put_rule(Name=resource.name, **named, **given)
        targets = properties.get("Targets", [])
        kept = {one["Id"] for one in targets}
        gone = [one["Id"] for one in before.get("Targets", []) if one["Id"] not in kept]
        if gone:
            events.remove_targets(Rule=resource.name, **named, Ids=gone)
        if targets:
            events.put_targets(Rule=resource.name, **named, Targets=targets)

    @classmethod
    def destroy(cls, resource: Rule) -> None:
        events = client("events")
        named = {"EventBusName": resource.event_bus_name}
        targets = events.list_targets_by_rule(Rule=resource.name, **named)["Targets"]
        if targets:
            events.remove_targets(Rule=resource.name, **named, Ids=[one["Id"] for one in targets])
        events.delete_rule(Name=resource.name, **named)
