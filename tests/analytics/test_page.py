"""The page in a real browser: it draws without an error, and its numbers are the summary's."""

import html
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.analytics.exportfiles import Exporter, full_line
from tests.analytics.items import at, item

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
)
HOSTILE = '</script><script>alert("x")</script>'


@pytest.fixture(scope="module", params=["many", "one", "empty"])
def reported(request: pytest.FixtureRequest, module_report: Any) -> tuple[dict[str, Any], Path]:
    """A report's summary and its page, on a queue with many tasks, one task or none."""
    done = {"firstTakenAt": 10, "takenAt": 10, "finishedAt": 12}
    many = [
        *(item(f"s{n}", "SUCCESS", kind=HOSTILE, enqueuedAt=n / 3, **done) for n in range(20)),
        *(item(f"p{n}", "PENDING", enqueuedAt=n) for n in range(30)),
        *(item(f"x{n}", "PENDING", enqueuedAt=n, expiresAt=40 + n) for n in range(25)),
        {**item("f", "FAILURE", **done), "error": '{"type":"<Boom>","message":""}'},
        item("t", "TAKEN", firstTakenAt=50, takenAt=50),
        item("c", "CANCELLED", finishedAt=33),
    ]
    items = {"many": many, "one": [item("t", "PENDING")], "empty": []}[request.param]
    exports = module_report.out.parent / str(request.param)
    Exporter(root=exports).full([full_line(one) for one in items], at=at(60))
    return module_report(exports, bucket_seconds=10), module_report.out / "report.html"


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: the page was NOT tested")
def test_the_page_draws_in_a_browser_and_shows_the_numbers_of_the_summary(
    reported: Any, tmp_path: Path
) -> None:
    summary, page = reported
    seen = subprocess.run(
        [
            str(CHROMIUM),
            *FLAGS,
            f"--user-data-dir={tmp_path / 'chromium'}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": str(tmp_path)},  # it keeps settings and caches there
    )
    assert "CONSOLE" not in seen.stderr
    drawn = 5 if summary["by_type"] else 0
    if summary["by_type"] and not summary["wait_seconds"]["max"]:
        drawn = 4  # no claim, hence no waits to draw
    assert f'data-charts="{drawn}"' in seen.stdout
    assert len(re.findall(r'<svg[^>]* class="marks"', seen.stdout)) == drawn
    shown = re.findall(r'data-key="([\w.]+)">([^<]*)<', seen.stdout)
    assert len(shown) == 8 + 7
    for key, text in shown:
        assert _same(html.unescape(text), _at(summary, key)), (key, text)


def test_the_page_needs_nothing_from_elsewhere_and_trusts_no_input(reported: Any) -> None:
    page = reported[1].read_text()
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert not re.findall(r"""\s(?:src|href)=["'](?!data:|#)""", markup)
    assert "@import" not in page.partition("</style>")[0]
    assert HOSTILE not in page
    assert page.count("</script>") == 3


def _at(summary: dict[str, Any], key: str) -> Any:
    value: Any = summary
    for name in key.split("."):
        value = value[name]
    return value


def _same(text: str, value: float | None) -> bool:
    if value is None:
        return text == "–"
    number = float(re.sub(r"[^\d.]", "", text))
    return abs(number - (value * 100 if "%" in text else value)) <= 0.05
