"""Each setting of a stage can be switched on, off and on again, one deployed over the other.

What CloudFormation would refuse is looked for in the templates, since it takes minutes to be tried.
Once it is tried with all settings together, on the local cloud.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import aws_cdk as cdk
import pytest

from lifoq_cdk import LifoQueue, TaskEvents
from lifoq_localcloud import LocalCloud
from lifoq_localcloud.deployments import inventory
from lifoq_localcloud.deployments.resources import changes, types
from tests.infrastructure.deployments import synthesized
from tests.infrastructure.everything import (
    GIVEN,
    STATES_OWN,
    SWITCHES,
    everything,
    numbers,
    properties,
)
from tests.infrastructure.updates import refused
from tests.localcloud import asked


def switched_off() -> Iterator[Callable[[cdk.App], None]]:
    """All; then so that each is off while any other one is on. The numbers, which decide about no
    resource, count as one."""
    names = SWITCHES | properties().keys()
    yield everything(off=names)
    switches = [numbers(), *({name} for name in sorted(names - numbers()))]
    for bit in range(len(switches).bit_length()):
        for side in (0, 1):
            off = [each for place, each in enumerate(switches) if place >> bit & 1 == side]
            yield everything(off=set().union(*off))
    yield everything(off={"spot"})
    for told in (
        TaskEvents(topic=False, step_functions=True),
        TaskEvents(step_functions=False),
        TaskEvents(step_functions=True, shed_at_deadline=False),
    ):
        yield everything(events=told)


@pytest.mark.prove
def test_each_setting_can_be_switched_on_off_and_on_again():
    known = set(inspect.signature(LifoQueue.__init__).parameters)
    assert known == GIVEN | STATES_OWN | properties().keys(), "add a property that is new"
    on = synthesized(everything()).templates
    problems = []
    for stage in switched_off():
        off = synthesized(stage).templates
        problems += [*refused(on, off), *refused(off, on), *unknown_here(on, off)]
    assert not problems


@pytest.mark.prove
def test_after_each_deployment_services_say_its_settings_and_the_cdk_cli_sees_no_difference(
    tmp_path,
):
    beyond = {"existing_sources", "protected"}
    with LocalCloud(tmp_path) as cloud:
        told = []
        for off in (beyond, SWITCHES | properties().keys(), beyond):
            assembly = synthesized(everything(off=off)).assembly
            cloud.deploy(assembly)
            cloud.cdk(assembly, "diff", "--all", "--fail", "--method=template")
            told.append(states(cloud))
        first, without, again = told
        assert again == first
        both = first.keys() & without.keys()
        changed = {it[1] for it in both if without[it] != first[it]}
        assert changed >= ON_AND_OFF


ON_AND_OFF = {
    *("AWS::CloudWatch::Alarm", "AWS::DynamoDB::Table", "AWS::IAM::Role"),
    *("AWS::Lambda::EventSourceMapping", "AWS::Lambda::Function"),
    *("AWS::Logs::LogGroup", "AWS::S3::Bucket", "AWS::SNS::Topic"),
    *("AWS::SQS::Queue", "AWS::SSM::Parameter", "AWS::Scheduler::Schedule"),
}
"""The types of which some resource is there with all settings and without, and not the same."""


def states(cloud: LocalCloud) -> dict[tuple[str, str], str]:
    """Return what the services say of each resource, by logical id and type, with logical ids in
    the place of the physical ones, since a resource that comes back has another."""
    cloudformation = cloud.client("cloudformation")
    names, found = {}, {}
    for stack in cloudformation.describe_stacks()["Stacks"]:
        for one in cloudformation.list_stack_resources(StackName=stack["StackName"])[
            "StackResourceSummaries"
        ]:
            place, kind = one["LogicalResourceId"], one["ResourceType"]
            names[re.split("[/:]", one["PhysicalResourceId"])[-1]] = place
            told = asked.state(cloud.client, kind, one["PhysicalResourceId"])
            found[place, kind] = json.dumps(told, sort_keys=True, default=str)
    made_up = sorted((re.escape(one) for one in names if len(one) > 5), key=len, reverse=True)
    pattern = re.compile("|".join(made_up))
    return {key: pattern.sub(lambda met: names[met[0]], one) for key, one in found.items()}


def unknown_here(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Tell the changed properties that the local cloud does not know how to change."""
    for stack in before.keys() & after.keys():
        old, new = before[stack]["Resources"], after[stack]["Resources"]
        for logical_id in old.keys() & new.keys():
            kind = old[logical_id]["Type"]
            if types.is_stand_in(kind):
                continue
            known = types.class_of(kind)
            both = (one.get("Properties", {}) for one in (old[logical_id], new[logical_id]))
            for name in changes.between(*both) - changes.in_place(known) - changes.replacing(known):
                if not inventory.does_nothing(kind, name):
                    yield f"{stack}: the local cloud cannot change {name} of {logical_id} ({kind})"
