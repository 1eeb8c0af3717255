"""`lifoq dev --debug`: handlers run in this process, where a debugger reaches them."""

import os
import sys
import threading
from queue import SimpleQueue

from lifoq import Queue
from lifoq.environment import Environment, Variable
from lifoq.worker.registry import REGISTRY
from localcloud.debugged import Debugged

PATIENCE = 300.0
"""Seconds, far longer than anything here takes."""
CODE = """
import lifoq

@lifoq.task("stop", timeout=0.05)
def stop(payload, context):
    breakpoint()
    return {answer}
"""


def test_a_breakpoint_stops_the_handler_in_this_process_and_saved_code_follows_it(
    tmp_path, monkeypatch
):
    stopped: SimpleQueue[int] = SimpleQueue()
    go_on = threading.Event()

    def debugger() -> None:
        stopped.put(os.getpid())
        assert go_on.wait(PATIENCE)

    def save(answer: int) -> None:
        (tmp_path / "debugged_tasks.py").write_text(CODE.format(answer=answer))

    monkeypatch.setattr(sys, "breakpointhook", debugger)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    save(1)
    registered = dict(vars(REGISTRY))
    queue = Queue.in_memory()
    first, second = queue.put("stop"), queue.put("stop")
    worker = Debugged(
        queue.store, Environment({Variable.TASKS: "debugged_tasks", Variable.WORKER: "{}"})
    )
    running = threading.Thread(target=worker.run)
    running.start()
    try:
        assert stopped.get(timeout=PATIENCE) == os.getpid()
        save(2)
        worker.reload()
        threading.Event().wait(0.2)  # longer than the type's own timeout
        go_on.set()
        assert queue.wait(second.task_id, timeout=PATIENCE) == 1
        assert queue.wait(first.task_id, timeout=PATIENCE) == 2
    finally:
        worker.end()
        running.join(PATIENCE)
        vars(REGISTRY).update(registered)
    assert not running.is_alive()
