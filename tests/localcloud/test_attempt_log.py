"""The log of `lifoq dev`: how attempts end, as the table's writes tell it."""

import re

from lifoq import Queue, TaskError
from lifoq.tables.dynamo_values import typed
from localcloud import importing
from localcloud.attempt_log import AttemptLog
from localcloud.importing import Imported
from localcloud.journal import Journal


class Written:
    """A queue in memory, whose writes a journal has."""

    def __init__(self) -> None:
        self.queue = Queue.in_memory()
        self.journal = Journal()
        self._before: dict = {}

    def lines(self, log: AttemptLog) -> list[str]:
        now = {str(item["taskId"]): typed(item) for item in self.queue.store.table.items()}
        for task_id in self._before | now:
            old, new = self._before.get(task_id), now.get(task_id)
            self.journal.stage(key={"taskId": {"S": task_id}}, old=old, new=new)
        self._before = now
        self.journal.commit()
        return [re.sub(r"^\d\d:\d\d:\d\d  |(under )?[\d.]+ m?s", "", line) for line in log.news()]


def test_each_attempt_has_a_line_and_each_kind_of_error_its_traceback_once():
    written = Written()
    log = AttemptLog(lambda: {"t": written.journal}, {"price.show": 3})
    store, shown = written.queue.store, []
    for task_id in ("good", "one", "two"):
        written.queue.put("price.show", task_id=task_id)
        written.lines(log)
        task = store.claim(task_id, claim_id=task_id, lease=30)
        shown += written.lines(log)
        trace = f'  File "/x/.local/assets/{64 * "a"}/tasks/__init__.py", line 7, in show'
        error = TaskError(type="KeyError", message="'cents'", traceback=trace)
        if task_id == "good":
            store.succeed(task, "1")
        elif task_id == "one":
            store.retry(task, error, delay=4)
        else:
            store.fail(task, error)
        shown += written.lines(log)
    assert shown == [
        "✓ done      price.show good: , attempt 1 of 3",
        "↻ again     price.show one: , attempt 1 of 3, next in , KeyError: 'cents'",
        '  File "tasks/__init__.py", line 7, in show',
        "✗ failed    price.show two: , attempt 1 of 3, KeyError: 'cents'",
    ]


def test_code_is_imported_to_tell_what_is_wrong_with_it_and_how_often_its_types_may_be_tried(
    tmp_path, monkeypatch
):
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "__init__.py").write_text("import lifoq\nfrom . import prices\n")

    def look(*lines: str) -> Imported:
        (tasks / "prices.py").write_text("\n".join(lines))
        return importing.look(tasks, "tasks", runtime=tmp_path, environment={})

    types = ("import lifoq", "lifoq.task('show', max_attempts=3)(print)", "lifoq.task('b')(print)")
    assert look(*types, "print('imported')") == Imported(attempts={"show": 3, "b": None})
    missing = look("", "import a_package_that_is_missing").problem
    assert missing.startswith("tasks/prices.py, line 2: ModuleNotFoundError: No module named")
    assert missing.endswith("; packages are named in tasks/requirements.txt")
    monkeypatch.setattr(importing, "SECONDS", 0.2)
    asleep = look("import time", "time.sleep(600)").problem
    assert asleep == "tasks: its import takes more than 0.2 s; wait in a handler instead"
