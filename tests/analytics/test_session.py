"""How Spark is started on this machine."""

from pathlib import Path

import pytest

from analytics import session


def test_an_archive_of_classes_is_used_from_the_cache_and_not_missed_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFOQ_CACHE", str(tmp_path))
    assert "SharedArchiveFile" not in session._local()["spark.driver.extraJavaOptions"]

    archive = tmp_path / "spark" / "classes.jsa"
    archive.parent.mkdir()
    archive.touch()

    options = session._local()["spark.driver.extraJavaOptions"]
    assert f"-XX:SharedArchiveFile={archive}" in options
