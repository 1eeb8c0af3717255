from itertools import count

import aws_cdk as cdk
import pytest
from constructs import Construct

from lifoq_cdk import LifoQueue
from tests.constructs.application import HERE, app_in

NUMBERS = count()


@pytest.fixture(scope="session")
def never_synthesized(tmp_path_factory) -> cdk.Stack:
    return cdk.Stack(app_in(tmp_path_factory.mktemp("app")), "pictures")


@pytest.fixture(scope="session")
def queue(never_synthesized) -> LifoQueue:
    """For tests that add to it what is refused, or read no template."""
    return LifoQueue(never_synthesized, "Queue", tasks=HERE / "thumbnails")


@pytest.fixture
def aside(never_synthesized) -> Construct:
    """A place of the test's own in the queue's stack."""
    return Construct(never_synthesized, f"Test{next(NUMBERS)}")
