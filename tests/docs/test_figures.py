"""Figures that pages repeat are those of the benchmarks' results, or follow from them.

The performance page is written from the results itself. A demo's report is one run's: it has to
add up.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from lifoq.items.schema import MAX_PAYLOAD_BYTES
from lifoq_cdk import TaskCode
from tests.docs.test_docs import ROOT

CPU_OF_A_MEGABYTE = 1 / 1769
"""The share of a core: Lambda gives a whole one at 1,769 MB."""


def results(benchmark: str) -> Any:
    return json.loads((ROOT / "benchmarks" / benchmark / "results.json").read_text())["results"]


def row(rows: list[dict[str, Any]], **known: Any) -> dict[str, Any]:
    (found,) = [one for one in rows if known.items() <= one.items()]
    return found


COST, BESIDE = results("cost"), results("beside_others")["outcomes"]
UNITS = {one["transition"]: round(one["small"]) for one in COST["transitions"]}
ALONE = {one["what"]: one["usd"] for one in COST["per_million"] if one["load"] == "one at a time"}
MONTH = {one["what"]: one["usd"] for one in COST["month"]}
CEILING = row(results("ceiling")["courses"], way="succeeds at the first attempt")
SHORT_TASK = min(one["cpu_ms_per_task"] for one in results("processor")["ratios"])
AT_ONCE = UNITS["put"] + UNITS["claim"] + UNITS["success"]


def million(load: str) -> float:
    return sum(one["usd"] for one in COST["per_million"] if one["load"] == load)


def in_time(patience: str, order: str, load: float) -> str:
    """By the closed form, per cent."""
    known = {"patience": patience, "order": order, "load": load}
    return f"{100 * row(results('goodput')['by_load'], **known)['theory']:.0f} %"


def idle_ms(queue: str) -> float:
    return row(BESIDE, queue=queue)["idle_ms"]


def short_tasks(megabytes: int) -> int:
    """A second, to the tens."""
    return 10 * round(megabytes * CPU_OF_A_MEGABYTE * 100 / SHORT_TASK)


def stated() -> Iterator[tuple[str, str]]:
    """The pages' words, with the figures that they should have."""
    per_second = f"{CEILING['tasks_per_second']:.0f}"
    yield "README.md", f"[{sum(MONTH.values()):.0f} dollars a month](docs/cost.md) when idle"
    between = f"{million('backlog'):.0f} to {million('one at a time'):.0f}"
    yield "README.md", f"{between} dollars per million tasks"
    newest, oldest, best = "newest first", "oldest first", "oldest first, best deadline"
    near = [in_time("equal", order, 1.1) for order in (oldest, newest)]
    yield "README.md", f"{near[0]} beside {near[1]} at a load of 1.1"
    twice = [in_time("exponential", order, 2.0) for order in (newest, best, oldest)]
    yield "README.md", f"begins with the oldest: {twice[0]} at twice the load"
    yield "README.md", f"{twice[1]} with the deadline that is best for just this load, {twice[2]}"
    yield "README.md", f"One queue does about {per_second} tasks/s"
    yield "README.md", f"lifoq does about {per_second} |"
    yield "README.md", f"A payload is at most {MAX_PAYLOAD_BYTES // 1024} KB"

    page = "docs/comparison.md"
    yield page, f"about {million('backlog'):.0f} dollars per million tasks under load"
    yield page, f"about {million('one at a time'):.0f} for tasks that come one at a time"
    yield page, f"a ceiling of about {per_second} tasks/s"
    yield page, f"counted on its code) | {AT_ONCE} |"
    yield page, f"`expires` at ten, {100 * row(BESIDE, queue='Celery, expires')['in_time']:.1f} %"
    celery = [idle_ms(f"Celery, expires{patience}") for patience in ("", " 2 s")]
    between = (
        f"as measured | {idle_ms('lifoq'):.0f} ms: two writes to DynamoDB "
        f"| {idle_ms('RQ, at_front and ttl'):.0f} ms: a fork, by default "
        f"| {idle_ms('BullMQ, lifo and an age check'):.0f} ms "
        f"| {min(celery):.0f} to {max(celery):.0f} ms |"
    )
    yield page, between

    page = "docs/limits.md"
    yield page, f"**about {per_second}**, sustained"
    yield page, f"a second; a task takes {AT_ONCE} |"
    yield page, f"{AT_ONCE * CEILING['tasks_per_second']:,.0f} at {per_second} tasks a second"
    yield page, f"a task takes some {SHORT_TASK:.1f} ms of a core's time"
    usual, whole = TaskCode.memory_size, short_tasks(1769)
    yield page, f"about {whole} with `processor_memory_mb` 1,769, {short_tasks(usual)} with"
    yield page, f"the default {usual} |"
    yield page, f"{usual} MB {usual * CPU_OF_A_MEGABYTE:.2f} of a core"
    yield page, f"{MAX_PAYLOAD_BYTES // 1024} KB of JSON"
    yield "docs/library.md", f"at most {MAX_PAYLOAD_BYTES:,} bytes"
    keyed = UNITS["put"] + UNITS["claim of a key"] + UNITS["success"]
    keyed += UNITS["leave a key's slot"]
    yield "docs/library.md", f"[{keyed} write units in place of {AT_ONCE}]"

    page = "docs/cost.md"
    for name, units in {
        "put": UNITS["put"],
        "claim": UNITS["claim"],
        "success, cancel": UNITS["success"],
        "failure": UNITS["failure"],
        "retry: back off, fall due, claim": UNITS["retry later"]
        + UNITS["fall due"]
        + UNITS["claim"],
        "heartbeat (every 10 s), checkpoint": UNITS["heartbeat"],
        "put again under a known id": UNITS["put again under a known id"],
        "shed: the sweep deletes it": UNITS["shed at its deadline"],
    }.items():
        yield page, rf"\| {re.escape(name)} \|.*\| {units} \|"
    runs = ALONE["function runs"] + ALONE["kicks"]
    bill = f"{ALONE['write units']:.2f} writes, {ALONE['function time']:.2f} the functions' time"
    yield page, f"tasks cost {million('one at a time'):.2f} dollars: {bill}"
    yield page, f"{ALONE['logs']:.2f} logs, {runs:.2f} runs and kicks, {ALONE['read units']:.2f}"
    metrics = MONTH["custom metrics"]
    yield page, f"({metrics / 0.30:.0f} at 0.30)"
    yield page, f"({0.10:.2f} for each metric that one reads: {MONTH['alarms'] / 0.10:.0f} in"


@pytest.mark.parametrize(("page", "words"), list(stated()), ids=lambda value: str(value)[:60])
def test_a_figure_of_a_page_is_what_was_measured(page, words):
    text = " ".join((ROOT / page).read_text().split(" "))
    pattern = words if words.startswith(r"\|") else re.escape(words).replace(r"\ ", r"\s+")
    assert re.search(pattern, text), words


def test_the_report_in_the_readme_adds_up():
    text = (ROOT / "README.md").read_text()
    (account,) = re.findall(r"^created .+$", text, re.MULTILINE)
    created, *ends = map(int, re.findall(r"\d+", account))
    assert created == sum(ends)
    (percent,) = re.findall(r"^(\d+) % was shed", text, re.MULTILINE)
    assert int(percent) == round(100 * ends[-1] / created)
