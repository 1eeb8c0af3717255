"""The page in a real browser: it draws without an error, its numbers are the summary's, and all of
it is seen on a phone."""

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
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
HOSTILE = '</script><script>alert("x")</script>\x1b[2J\u202e'
LOST = {"how": "LEASE_EXPIRED", "type": "BrokenPipeError"}
ABOUT = {
    "queue": "orders",
    "stage": "prod",
    "phases": [{"name": "sale", "from": "2025-11-20T01:00:10Z", "to": "2025-11-20T01:00:40Z"}],
    "events": [{"name": "paused", "at": "2025-11-20T01:00:20Z"}],
    "alarms": {"oldest_waiting_seconds": 48},
}
PHONE = """<!doctype html>
<iframe style="border:0;width:390px;height:800px" srcdoc="{page}"></iframe>
<script>
onload = () => {{
  const page = document.querySelector("iframe").contentDocument;
  const root = page.documentElement;
  for (const details of page.querySelectorAll("details")) details.open = true;
  const beyond = (one) => {{
    const box = one.getBoundingClientRect();
    const fits = box.left > -1 && box.right < root.clientWidth + 1;
    return !fits && !one.closest(".scroll table");
  }};
  document.body.dataset.cut = [...page.body.querySelectorAll("*")].filter(beyond)
    .map((one) => one.outerHTML.slice(0, 80)).join(" ");
  document.body.dataset.beside = root.scrollWidth - root.clientWidth;
  const readout = page.querySelector(".readout")?.getBoundingClientRect();
  document.body.dataset.covered = [...page.querySelectorAll(".plot")]
    .filter((plot) => plot.getBoundingClientRect().bottom > readout.top).length;
}};
</script>"""

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: the page was NOT tested"
)


@pytest.fixture(scope="module", params=["many", "one", "empty"])
def reported(request, module_report) -> tuple[dict[str, Any], Path]:
    """A report's summary and its page, on a queue with many tasks, one task or none."""
    done = {"firstTakenAt": 10, "takenAt": 10, "finishedAt": 12}
    many = [
        *(item(f"s{n}", "SUCCESS", kind=HOSTILE, enqueuedAt=n / 3, **done) for n in range(20)),
        *(item(f"p{n}", "PENDING", enqueuedAt=n) for n in range(30)),
        *(item(f"x{n}", "PENDING", enqueuedAt=n, expiresAt=40 + n) for n in range(25)),
        {**item("f", "FAILURE", **done), "error": '{"type":"<Boom>","message":""}'},
        {**item("k", "SUCCESS", **done), "taskKey": "customer-4711", "history": [LOST]},
        item("t", "TAKEN", firstTakenAt=50, takenAt=50),
        item("c", "CANCELLED", finishedAt=33),
        item("0" * 200, "PENDING", kind="t" * 100),
    ]
    items = {"many": many, "one": [item("t", "PENDING")], "empty": []}[request.param]
    about = ABOUT if request.param == "many" else {}
    exports = module_report.out.parent / str(request.param)
    Exporter(root=exports).full([full_line(one) for one in items], at=at(60))
    return (
        module_report(exports, bucket_seconds=10, about=about),
        module_report.out / "report.html",
    )


@pytest.fixture
def browse(tmp_path) -> Callable[[Path], str]:
    """Opens a page and returns what it has become; nothing may stand on the console."""

    def dumped(page: Path) -> str:
        seen = subprocess.run(
            [
                *(str(CHROMIUM), *FLAGS, "--dump-dom"),
                *(f"--user-data-dir={tmp_path / 'chromium'}", page.as_uri()),
            ],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "HOME": str(tmp_path)},  # it keeps settings and caches there
        )
        assert "CONSOLE" not in seen.stderr
        return seen.stdout

    return dumped


@needs_chromium
def test_the_page_shows_the_moment_that_its_slider_is_at(reported, browse):
    summary, page = reported
    seen = browse(page)
    shown = dict(re.findall(r"<div><dt>([^<]*)</dt><dd>([^<]*)</dd></div>", seen))
    if not summary["tasks"]["created"]:
        assert not shown
        return
    (said,) = re.findall(r'aria-valuetext="([^"]*)"', seen)
    told = dict(pair.split(": ", 1) for pair in said.split(", "))
    assert shown == told
    assert "waiting" in shown


@needs_chromium
def test_nothing_is_cut_on_a_phone(reported, browse, tmp_path):
    framed = tmp_path / "phone.html"
    framed.write_text(PHONE.format(page=html.escape(reported[1].read_text())))
    seen = browse(framed)
    assert 'data-cut=""' in seen, re.findall(r'data-cut="([^"]*)"', seen)
    assert 'data-beside="0"' in seen
    assert 'data-covered="0"' in seen


def test_the_numbers_of_the_page_are_the_summarys(reported):
    summary, page = reported
    shown = re.findall(r'data-key="([\w.]+)" value="([^"]*)"', page.read_text())
    assert len(shown) >= (10 if summary["tasks"]["created"] else 0)
    for key, value in shown:
        assert float(value) == _at(summary, key), key


def test_every_place_of_a_task_is_drawn_unless_there_is_none(reported):
    summary, page = reported
    text, there = page.read_text(), bool(summary["tasks"]["created"])
    assert all((f'data-key="tasks.{name}"' in text) is there for name in summary["tasks"])
    assert text.count("<svg") == (3 if there else 0)
    assert ("No task came in." in text) is not there
    assert ("Why tasks failed" in text) is bool(summary["tasks"]["failed"])


def test_the_page_names_the_queue_and_tells_what_was_done_to_it(reported):
    summary, path = reported
    page = path.read_text()
    if summary["about"]:
        for told in (
            "orders",
            "stage prod",
            "sale",
            "01:00:20 paused",
            "alarm 48\N{NO-BREAK SPACE}s",
        ):
            assert told in page
    else:
        assert '<p class="where">Tasks</p>' in page  # the table's own name


def test_the_page_needs_nothing_from_elsewhere_and_trusts_no_input(reported):
    page = reported[1].read_text()
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert not re.findall(r"""\s(?:src|href)=["'](?!data:|#)""", markup)
    assert "@import" not in page.partition("</style>")[0]
    assert not re.search("<script>alert|[\x1b\u202e]", page)
    assert page.count("</script>") == 1
    assert len(page) < 200_000


def _at(summary: dict[str, Any], key: str) -> Any:
    value: Any = json.loads(json.dumps(summary))
    for name in key.split("."):
        value = value[name]
    return value
