"""A real browser, where one is installed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


def chromium(home: Path, *arguments: str) -> list[str]:
    """The command; what a browser keeps beside its profile goes there, too."""
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-breakpad",
        f"--crash-dumps-dir={home / 'crashes'}",
        f"--user-data-dir={home / 'chromium'}",
    )
    own = {"HOME": home, "XDG_CONFIG_HOME": home / "config", "XDG_CACHE_HOME": home / "cache"}
    variables = [f"{name}={folder}" for name, folder in own.items()]
    return ["env", *variables, str(CHROMIUM), *options, *arguments]


def dumped(address: str, home: Path) -> str:
    """The page as the browser has made it, after 20 s of the page's time; nothing may stand on its
    console."""
    options = ("--dump-dom", "--virtual-time-budget=20000", "--enable-logging=stderr")
    command = chromium(home, *options, address)
    seen = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert "CONSOLE" not in seen.stderr
    return seen.stdout


_HAND_OVER = """
import fcntl, os, sys
theirs, back = (fcntl.fcntl(int(pipe), fcntl.F_DUPFD, 10) for pipe in sys.argv[1:3])
os.dup2(theirs, 3)
os.dup2(back, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""The beginning of the browser's process: it reads from pipe 3 and writes to pipe 4."""


class Browser:
    """A browser that a test uses as a person does: it opens pages, fills in fields, presses
    buttons, and reads what is shown. It is spoken to by two pipes, in the protocol of its
    developer tools (https://chromedevtools.github.io/devtools-protocol/)."""

    def __init__(self, home: Path) -> None:
        theirs, self._to = os.pipe()
        self._from, back = os.pipe()
        command = chromium(home, "--remote-debugging-pipe", "about:blank")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _HAND_OVER, str(theirs), str(back), *command],
            pass_fds=(theirs, back),
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(back)
        self._messages = self._read()
        self._number = 0
        self._page: str | None = None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._page = attached["sessionId"]
        self._ask("Page.enable")

    def close(self) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.kill()
        self._process.wait()

    def open(self, address: str) -> None:
        self._then_loaded("Page.navigate", url=address)

    def fill(self, name: str, text: str) -> None:
        """Write into the field of this name."""
        self.run(f"document.querySelector('[name={name}]').value = {json.dumps(text)}")

    def press(self, label: str) -> None:
        """Press the first button or link whose text begins so, and wait for the page it leads
        to. Questions are answered with yes."""
        self._then_loaded(
            "Runtime.evaluate",
            expression="confirm = () => true; [...document.querySelectorAll('button, a')]"
            f".find((one) => one.textContent.trim().startsWith({json.dumps(label)})).click()",
        )

    @property
    def text(self) -> str:
        """The text that a person reads, in one line."""
        return " ".join(str(self.run("document.body.innerText")).split())

    def run(self, script: str) -> Any:
        """The value of a script in the page; a promise is waited for."""
        answer = self._ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def _then_loaded(self, method: str, **arguments: Any) -> None:
        seen = self._send(method, **arguments)
        answered = loaded = False
        for message in self._messages:
            answered = answered or message.get("id") == seen
            assert "exceptionDetails" not in message.get("result", {}), message
            loaded = loaded or message.get("method") == "Page.loadEventFired"
            if answered and loaded:
                return

    def _ask(self, method: str, **arguments: Any) -> dict[str, Any]:
        number = self._send(method, **arguments)
        answer = next(message for message in self._messages if message.get("id") == number)
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def _send(self, method: str, **arguments: Any) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        session = {} if self._page is None else {"sessionId": self._page}
        os.write(self._to, json.dumps({**message, **session}).encode() + b"\0")
        return self._number

    def _read(self) -> Iterator[dict[str, Any]]:
        rest = b""
        while part := os.read(self._from, 65_536):
            *whole, rest = (rest + part).split(b"\0")
            yield from map(json.loads, whole)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    one = Browser(tmp_path)
    yield one
    one.close()
