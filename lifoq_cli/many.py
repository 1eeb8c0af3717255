"""One change of many tasks: several calls at a time, with a bar on a terminal, and a word about
what was done where somebody ends it."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from lifoq_cli.progress import progress
from lifoq_cli.session import Session

AT_ONCE: Final = 10
"""Calls at a time: as many connections as a boto3 client keeps by default."""


@dataclass(kw_only=True)
class Many:
    """Makes one change of each task, as long as nobody ends it."""

    session: Session
    done_word: str
    """The word for a task that was changed, such as ``redriven``."""
    change: Callable[[str], bool]
    """Changes the task of an id; False if it was no longer what it had been."""
    per_second: float | None = None
    """Changes that may begin in a second; None: as many as there can be."""
    changed: int = field(default=0, init=False)
    _counting: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(self, ids: Sequence[str]) -> int:
        """Change the tasks, in about this order; return how many were changed. Whatever ends it
        before, an interrupt or an error, ends once the calls under way are over, and the person is
        told how far it came. Exits with status 130 at an interrupt."""
        try:
            with progress(self.done_word, total=len(ids)) as advance:
                self._run(ids, advance)
        except KeyboardInterrupt:
            raise self.session.interrupted(self._done_of(len(ids))) from None
        except Exception:
            self.session.tell(f"not all of it was done: {self._done_of(len(ids))}")
            raise
        return self.changed

    def _done_of(self, total: int) -> str:
        return f"{self.changed:,} of {total:,} were {self.done_word}"

    def _run(self, ids: Sequence[str], advance: Callable[[int], None]) -> None:
        waiting = iter(ids)
        began, begun = time.monotonic(), 0
        under_way: set[Future[None]] = set()
        with ThreadPoolExecutor(AT_ONCE) as pool:  # in its end it waits for calls under way
            while True:
                for task_id in islice(waiting, AT_ONCE - len(under_way)):
                    if self.per_second is not None:
                        # The first begins at once, the next when its time has come.
                        time.sleep(max(0, began + begun / self.per_second - time.monotonic()))
                    under_way.add(pool.submit(self._one, task_id))
                    begun += 1
                if not under_way:
                    return
                over, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                advance(begun - len(under_way))
                for one in over:
                    one.result()

    def _one(self, task_id: str) -> None:
        """Counted where it is done: an interrupt may come anywhere in the main thread."""
        if self.change(task_id):
            with self._counting:
                self.changed += 1
