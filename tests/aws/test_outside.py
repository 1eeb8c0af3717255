"""Where a user owns the process, whoever mocks, records, redirects or traces boto3 governs lifoq's
calls as well: none of them leaves the process past him."""

import json
import os
import subprocess
import sys

import pytest

from tests.aws.outside import WAYS

pytestmark = pytest.mark.prove

LAMBDA = {
    "AWS_LAMBDA_FUNCTION_NAME": "a-users-function",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_SESSION_TOKEN": "t",
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param({}, marks=pytest.mark.prove, id="a script"),  # boto3 is its client by default
        pytest.param(LAMBDA, id="a Lambda function"),
    ],
)
def found(request):
    told = subprocess.run(
        [sys.executable, "-m", "tests.aws.outside"],
        env=os.environ | request.param,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


@pytest.mark.parametrize("way", WAYS)
def test_no_call_leaves_the_process_past_whoever_has_a_hand_in_boto3s(found, way):
    """No socket connects, no name is looked up; and he has seen the calls."""
    assert found[way].get("error") is None
    assert found[way]["tried"] == []
    assert found[way]["seen"] >= 1
