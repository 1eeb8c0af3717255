from collections.abc import Iterator

import pytest

from lab import dynamodb_local


@pytest.fixture(scope="module")
def dynamodb_local_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of their own. The fault matrix leaves so many streamed writes in the shared one that
    eight workers wait for it more than they work, and then hardly any of them holds a task."""
    with dynamodb_local.running(tmp_path_factory.mktemp("dynamodb-local") / "log") as endpoint:
        yield endpoint
