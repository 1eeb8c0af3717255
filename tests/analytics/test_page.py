"""The page in a real browser: it draws without an error, its numbers are the summary's, and all of
it is seen on a phone."""

import operator
import re
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from tests.analytics.conftest import Reporter
from tests.analytics.exportfiles import Exporter, full_line
from tests.analytics.items import at, item
from tests.browser import in_a_browser

HOSTILE = '</script><script>alert("x")</script>\x1b[2J\u202e'
LOST = {"how": "LEASE_EXPIRED", "type": "BrokenPipeError"}
ABOUT = {
    "queue": "orders",
    "stage": "prod",
    "phases": [{"name": "sale", "from": "2025-11-20T01:00:10Z", "to": "2025-11-20T01:00:40Z"}],
    "events": [{"name": "paused", "at": "2025-11-20T01:00:20Z"}],
    "alarms": {"oldest_waiting_seconds": 48},
}
CUT = """(() => {
  const root = document.documentElement;
  for (const details of document.querySelectorAll("details")) details.open = true;
  const beyond = (one) => {
    const box = one.getBoundingClientRect();
    const fits = box.left > -1 && box.right < root.clientWidth + 1;
    return !fits && !one.closest(".scroll table");
  };
  const readout = document.querySelector(".readout")?.getBoundingClientRect();
  return {
    cut: [...document.body.querySelectorAll("*")].filter(beyond)
      .map((one) => one.outerHTML.slice(0, 80)),
    beside: root.scrollWidth - root.clientWidth,
    covered: [...document.querySelectorAll(".plot")]
      .filter((plot) => plot.getBoundingClientRect().bottom > readout.top).length,
  };
})()"""
"""The parts of the page that cannot be seen."""


@pytest.fixture(scope="module", params=["many", "empty"])
def reported(request, spark, tmp_path_factory) -> tuple[dict[str, Any], Path]:
    """A report's summary and its page, on a queue with many tasks or none."""
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
    items = many if request.param == "many" else []
    folder = tmp_path_factory.mktemp("report")
    Exporter(root=folder / "exports").full([full_line(one) for one in items], at=at(60))
    report = Reporter(spark, folder / "out")
    about = ABOUT if items is many else {}
    summary = report(folder / "exports", bucket_seconds=10, about=about)
    return summary, report.out / "report.html"


@in_a_browser
def test_the_page_shows_the_moment_that_its_slider_is_at_and_nothing_is_cut_on_a_phone(
    reported, browser
):
    summary, page = reported
    browser.resize(390)
    browser.open(page.as_uri())
    seen = browser.html
    shown = dict(re.findall(r"<div><dt>([^<]*)</dt><dd>([^<]*)</dd></div>", seen))
    assert ("waiting" in shown) is bool(summary["tasks"]["created"])
    for said in re.findall(r'aria-valuetext="([^"]*)"', seen):
        assert shown == dict(pair.split(": ", 1) for pair in said.split(", "))
    assert browser.run(CUT) == {"cut": [], "beside": 0, "covered": 0}


def test_the_page_tells_what_the_summary_does(reported):
    summary, path = reported
    page, tasks = path.read_text(), summary["tasks"]
    there = bool(tasks["created"])
    for key, told in re.findall(r'data-key="([\w.]+)" value="([^"]*)"', page):
        assert float(told) == reduce(operator.getitem, key.split("."), summary), key
    assert all((f'data-key="tasks.{name}"' in page) is there for name in tasks)
    assert page.count("<svg") == (3 if there else 0)
    assert ("No task came in." in page) is not there
    in_words = (
        r'aria-label="How many were in the queue\. Waiting: \d+ to \d+\. Waiting and in work: \d'
    )
    assert bool(re.search(in_words, page)) is there
    assert ("Why tasks failed" in page) is bool(tasks["failed"])
    named = ("orders", "stage prod", "sale", "01:00:20 paused", "alarm 48\N{NO-BREAK SPACE}s")
    for words in named if summary["about"] else ['<p class="where">Tasks</p>']:
        assert words in page


def test_the_page_needs_nothing_from_elsewhere_and_trusts_no_input(reported):
    page = reported[1].read_text()
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert not re.findall(r"""\s(?:src|href)=["'](?!data:|#)""", markup)
    assert "@import" not in page.partition("</style>")[0]
    assert not re.search("<script>alert|[\x1b\u202e]", page)
    assert page.count("</script>") == 1
    assert len(page) < 200_000
