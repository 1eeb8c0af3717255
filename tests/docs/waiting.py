"""``python -m tests.docs.waiting`` writes the gates into the page of why a task waits."""

from pathlib import Path
from typing import Final

from lifoq.worker.gates.all_gates import ROWS
from lifoq.worker.gates.gate import About

PAGE: Final = Path(__file__).parents[2] / "docs" / "waiting.md"
HEAD: Final = "| gate | holds back | why the task waits |\n|---|---|---|\n"
WORDS: Final = {
    About.WORKER: "all tasks of the worker",
    About.TYPE: "a task type",
    About.KEY: "a key",
    About.TASK: "one task",
}


def written() -> str:
    """Return the page with the gates as they are in the code."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    after = rest[rest.index("\n\n") :]
    rows = (f"| `{row.name}` | {WORDS[row.about]} | {row.says} |" for row in ROWS)
    return before + HEAD + "\n".join(rows) + after


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
