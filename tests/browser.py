"""A real browser, where one is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


def chromium(home: Path, *arguments: str) -> list[str]:
    """The command; what a browser keeps beside its profile goes there, too."""
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={home / 'chromium'}",
    )
    return ["env", f"HOME={home}", str(CHROMIUM), *options, *arguments]


def dumped(address: str, home: Path) -> str:
    """The page as the browser has made it, after 20 s of the page's time; nothing may stand on its
    console."""
    options = ("--dump-dom", "--virtual-time-budget=20000", "--enable-logging=stderr")
    command = chromium(home, *options, address)
    seen = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert "CONSOLE" not in seen.stderr
    return seen.stdout
