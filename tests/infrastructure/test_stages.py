"""The application refuses in a sentence what it cannot deploy."""

import json
import os
import sys

import pytest

from lifoq.errors import InvalidInput
from stacks.stage import Stage
from stacks.stages import STAGES
from tests.infrastructure.commands import refused
from tests.infrastructure.deployments import CONTEXT, new_app, synthesize


@pytest.mark.parametrize("name", STAGES)
def test_no_stage_makes_load_by_itself(name):
    schedules = synthesize(name).resources("generator", "AWS::Scheduler::Schedule")
    assert {one["Properties"]["State"] for one in schedules.values()} <= {"DISABLED"}


@pytest.mark.parametrize("name", ["Prod", "1st", "a" * 21, "a_b"])
def test_a_name_that_no_stack_can_have_is_refused(name):
    with pytest.raises(InvalidInput, match="lower-case letters"):
        Stage(new_app(), name)


def test_an_unknown_stage_is_one_sentence_with_the_known_ones():
    env = {**os.environ, "CDK_CONTEXT_JSON": json.dumps({**CONTEXT, "stage": "prd"})}
    assert refused(sys.executable, "app.py", env=env) == (
        "stage='prd': is unknown: choose one of dev, prod, demo with '-c stage=NAME', or add it to "
        "stacks/stages.py\n"
    )
