"""What is saved while an application is deployed is not lost."""

import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
import watchfiles

from localcloud import LocalCloud
from localcloud.reload import Reloader
from tests.localcloud.harness import eventually


def test_what_is_saved_before_the_deployment_has_ended_is_live_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied: list[Path] = []

    class Recording(Reloader):
        def apply(self, paths: Iterable[Path]) -> None:
            applied.extend(paths)

    saved, told = tmp_path / "tasks.py", threading.Event()

    def changes(*_: object, **__: object) -> Iterable[set[tuple[watchfiles.Change, str]]]:
        told.set()
        yield {(watchfiles.Change.modified, str(saved))}

    monkeypatch.setattr(watchfiles, "watch", changes)
    reloader = Recording(LocalCloud(tmp_path), tmp_path, lambda _: None)
    deployed = threading.Event()
    watching = threading.Thread(target=reloader.watch, args=(threading.Event(), deployed))
    watching.start()
    assert told.wait(300)
    assert applied == []

    deployed.set()

    eventually(lambda: applied == [saved])
    watching.join(300)
