import aws_cdk as cdk
import pytest

from lifoq_cdk import LifoQueue
from tests.constructs.application import HERE, app_in


@pytest.fixture
def stack(tmp_path) -> cdk.Stack:
    return cdk.Stack(app_in(tmp_path), "pictures")


@pytest.fixture
def queue(stack) -> LifoQueue:
    return LifoQueue(stack, "Queue", tasks=HERE / "thumbnails")
