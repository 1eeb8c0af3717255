"""A real browser, where one is installed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
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
        "--in-process-gpu",
        "--disable-features=SpareRendererForSitePerProcess",  # a process in case of another site
        "--disable-breakpad",
        f"--crash-dumps-dir={home / 'crashes'}",
        f"--user-data-dir={home / 'chromium'}",
    )
    own = {"HOME": home, "XDG_CONFIG_HOME": home / "config", "XDG_CACHE_HOME": home / "cache"}
    variables = [f"{name}={folder}" for name, folder in own.items()]
    return ["env", *variables, str(CHROMIUM), *options, *arguments]


_HAND_OVER = """
import fcntl, os, sys
theirs, back = (fcntl.fcntl(int(pipe), fcntl.F_DUPFD, 10) for pipe in sys.argv[1:3])
os.dup2(theirs, 3)
os.dup2(back, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""The beginning of the browser's process: it reads from pipe 3 and writes to pipe 4."""
VIRTUAL_TIME = {"policy": "pauseIfNetworkFetchesPending", "budget": 20_000}
COMPLAINTS = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
"""Messages that tell what stands on a page's console."""


class Chromium:
    """A process of Chromium for many tests. It is spoken to by two pipes, in the protocol of its
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
        self.messages = self._read()
        self._number = 0

    def end(self) -> None:
        self.send("Browser.close", None, {})
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def send(self, method: str, session: str | None, arguments: dict[str, Any]) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        whole = message if session is None else {**message, "sessionId": session}
        os.write(self._to, json.dumps(whole).encode() + b"\0")
        return self._number

    def _read(self) -> Iterator[dict[str, Any]]:
        rest = b""
        while part := os.read(self._from, 65_536):
            *whole, rest = (rest + part).split(b"\0")
            yield from map(json.loads, whole)


class Browser:
    """A browser that a test uses as a person does: it opens pages, fills in fields, presses
    buttons, and reads what is shown. It knows nothing of what another test did."""

    def __init__(self, chromium: Chromium) -> None:
        self._chromium = chromium
        self._session: str | None = None
        self._complaints: list[object] = []
        self._ask("Storage.clearCookies")
        targets = self._ask("Target.getTargets")["targetInfos"]
        (self._page,) = (each["targetId"] for each in targets if each["type"] == "page")
        self._attach()

    def _attach(self) -> None:
        attached = self._ask("Target.attachToTarget", targetId=self._page, flatten=True)
        self._session = attached["sessionId"]
        self._time_stands_still = False
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def leave(self) -> None:
        """Nothing may stand on the console of a page that was shown."""
        self.open("about:blank")
        session, self._session = self._session, None
        self._ask("Target.detachFromTarget", sessionId=session)
        assert self._complaints == []

    def open(self, address: str) -> None:
        if self._time_stands_still:
            before, self._session = self._page, None
            self._page = self._ask("Target.createTarget", url="about:blank")["targetId"]
            self._ask("Target.closeTarget", targetId=before)
            self._attach()
        self._then_loaded("Page.navigate", url=address)

    def resize(self, width: int) -> None:
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )

    def wait(self) -> None:
        """Let 20 s of the page's time pass; then it stands still."""
        self._time_stands_still = True
        self._ask("Emulation.setVirtualTimePolicy", **VIRTUAL_TIME)
        self._next(lambda message: message.get("method") == "Emulation.virtualTimeBudgetExpired")

    @property
    def html(self) -> str:
        """The page as the browser has made it."""
        return str(self.run("document.documentElement.outerHTML"))

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
        while not (answered and loaded):
            message = self._next()
            answered = answered or message.get("id") == seen
            assert "exceptionDetails" not in message.get("result", {}), message
            loaded = loaded or message.get("method") == "Page.loadEventFired"

    def _ask(self, method: str, **arguments: Any) -> dict[str, Any]:
        number = self._send(method, **arguments)
        answer = self._next(lambda message: message.get("id") == number)
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def _send(self, method: str, **arguments: Any) -> int:
        return self._chromium.send(method, self._session, arguments)

    def _next(self, is_meant: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        for message in self._chromium.messages:
            if message.get("sessionId") != self._session:
                continue
            entry = message.get("params", {}).get("entry", {})
            if message.get("method") in COMPLAINTS and entry.get("source") != "network":
                self._complaints.append(message["params"])
            if is_meant(message):
                return message
        raise EOFError("the browser has ended")


@pytest.fixture(scope="session")
def running_chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    found = Chromium(tmp_path_factory.mktemp("chromium"))
    yield found
    found.end()


@pytest.fixture
def browser(running_chromium: Chromium) -> Iterator[Browser]:
    one = Browser(running_chromium)
    yield one
    one.leave()
