"""A word for each step of ``lifoq dev`` that takes long, to whoever waits for it."""

import re
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

PATIENCE: Final = 1.5
"""Seconds for which a step says nothing."""
PREPARATION: Final = "Preparing the local account for the CDK …"
SYNTHESIS: Final = "Synthesizing the application …"
_CDK: Final[tuple[tuple[re.Pattern[str], str | None], ...]] = (
    (re.compile(r"\s*✅ +Environment"), SYNTHESIS),
    (re.compile(r"\s*✨ +Synthesis time"), "Uploading the code of its functions …"),
    (
        re.compile(r"(?P<stack>(?!CDKToolkit)\S+): (creating CloudFormation changeset|deploying)"),
        "Deploying {} …",
    ),
    (re.compile(r"\s*✅"), None),
)
"""The lines of the CDK CLI with which a step begins, and the words for it; None where one ends."""


class Steps:
    """Tells the step that is under way, once it has taken ``patience`` seconds. Entered for as long
    as there is anything under way."""

    def __init__(self, tell: Callable[[str], None], *, patience: float = PATIENCE) -> None:
        self._tell = tell
        self._patience = patience
        self._step: threading.Timer | None = None
        self._words: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.begin(None)

    def begin(self, words: str | None) -> None:
        """End the step before, if it is not over; begin one that ``words`` tell of, unless it is
        the same."""
        if words is not None and words == self._words:
            return
        self._words = words
        if self._step is not None:
            self._step.cancel()
        self._step = None
        if words is not None:
            self._step = threading.Timer(self._patience, self._tell, [words])
            self._step.daemon = True
            self._step.start()

    def hear(self, line: str) -> None:
        """Take a line of the CDK CLI, which may begin or end a step."""
        for beginning, words in _CDK:
            if found := beginning.match(line):
                stack = found.groupdict().get("stack")
                self.begin(words and words.format(stack))
                return
