from collections.abc import Iterator

import pytest

from tests import dynamodb_local


@pytest.fixture(scope="module")
def dynamodb_local_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own: one that has had a thousand tables of other tests is slow, and then it
    is the server that decides how many tasks run at a time."""
    with dynamodb_local.running(tmp_path_factory.mktemp("dynamodb-local") / "log") as endpoint:
        yield endpoint
