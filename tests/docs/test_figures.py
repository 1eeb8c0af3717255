"""Figures that pages repeat are those of the benchmarks' results, or follow from them.

The performance page is written from the results itself. The report in the README is one run's: it
has to add up.
"""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

from benchmarks.cost.bill import usd
from benchmarks.cost.five_ways import ways
from lifoq.health.statistics import CAP
from lifoq.items import quota_table
from lifoq.items.schema import MAX_PAYLOAD_BYTES
from lifoq.worker.backlog import newest_or_oldest_first, view, view_index, when_to_poll_or_end
from lifoq.worker.gates.quota_protocol import times
from lifoq.worker.handlers.emitted_answer_parts import EMIT_APART
from lifoq_cdk import LongTasks, TaskCode, functions, ingest, long_tasks, worker_scaling, workers
from lifoq_functions.ingest import put_aside
from tests.docs.test_docs import ROOT

CPU_OF_A_MEGABYTE = 1 / 1769
"""The share of a core: Lambda gives a whole one at 1,769 MB."""


def results(benchmark: str, run: str = "results") -> Any:
    return json.loads((ROOT / "benchmarks" / benchmark / f"{run}.json").read_text())["results"]


def row(rows: list[dict[str, Any]], **known: Any) -> dict[str, Any]:
    (found,) = [one for one in rows if known.items() <= one.items()]
    return found


COST, BESIDE = results("cost"), results("beside_others")["outcomes"]
UNITS = {one["transition"]: round(one["small"]) for one in COST["transitions"]}
ALONE = {one["what"]: one["usd"] for one in COST["per_million"] if one["load"] == "one at a time"}
MONTH = {one["what"]: one["usd"] for one in COST["month"]}
COURSES = results("ceiling")["courses"]
CEILING = row(COURSES, way="succeeds at the first attempt")
SHORT_TASK = min(one["cpu_ms_per_task"] for one in results("processor")["ratios"])
PER_SECOND = f"{CEILING['tasks_per_second']:.0f}"
NUMBERS = ("none", "one", "two", "three", "four", "five")
AT_ONCE = UNITS["put"] + UNITS["claim"] + UNITS["success"]
SLOT = UNITS["leave a key's slot"]
KEYED = UNITS["put"] + UNITS["claim of a key"] + UNITS["success"] + SLOT
USUAL = TaskCode.memory_size
ALL_MONTH = f"{usd('function time', 730 * 3_600 * USUAL / 1024):.0f} dollars a month"


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


def measured() -> Iterator[tuple[str, str]]:
    """The pages' words, with the figures that they should have."""
    yield "README.md", f"[{sum(MONTH.values()):.2f} dollars a month](docs/cost.md) when idle"
    between = f"{million('backlog'):.0f} to {million('one at a time'):.0f}"
    yield "README.md", f"{between} dollars per million tasks"
    newest, oldest, best = "newest first", "oldest first", "oldest first, best deadline"
    near = [in_time("equal", order, 1.1) for order in (oldest, newest)]
    yield "README.md", f"At a load of 1.1 it serves {near[0]}, and newest first {near[1]}"
    twice = [in_time("exponential", order, 2.0) for order in (newest, best, oldest)]
    yield "README.md", f"| newest first | {twice[0]} |"
    yield "README.md", f"with the deadline that is best for just this load | {twice[1]} |"
    yield "README.md", f"with a deadline of ten service times | {twice[2]} |"
    yield "README.md", f"One queue does about {PER_SECOND} tasks/s"
    yield "README.md", f"lifoq does about {PER_SECOND} |"
    yield "README.md", f"with the default memory [some {short_tasks(USUAL)}](docs/limits.md)"
    yield "README.md", f"A payload is at most {MAX_PAYLOAD_BYTES // 1024} KB"

    page = "docs/comparison.md"
    yield page, f"about {million('backlog'):.0f} dollars per million tasks under load"
    yield page, f"about {million('one at a time'):.0f} for tasks that come one at a time"
    yield page, f"a ceiling of about {PER_SECOND} tasks/s"
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
    yield page, f"**about {PER_SECOND}**, sustained"
    yield page, f"a second; a task takes {AT_ONCE} |"
    yield page, f"{AT_ONCE * CEILING['tasks_per_second']:,.0f} at {PER_SECOND} tasks a second"
    yield page, f"a task takes some {SHORT_TASK:.1f} ms of a core's time"
    whole = short_tasks(1769)
    yield page, f"about {whole} with `TaskCode(memory_size=1769)`, {short_tasks(USUAL)} with"
    yield page, f"the default {USUAL} |"
    yield page, f"{USUAL} MB {USUAL * CPU_OF_A_MEGABYTE:.2f} of a core"
    yield page, f"{MAX_PAYLOAD_BYTES // 1024} KB of JSON"
    yield "docs/how-to/put.md", f"at most {MAX_PAYLOAD_BYTES:,} bytes"
    yield "docs/how-to/per-key.md", f"[{KEYED} write units in place of {AT_ONCE}]"

    page = "docs/cost.md"
    parts = f"parts that are emitted (every {EMIT_APART} s at most)"
    for name, units in {
        "put": UNITS["put"],
        "claim": UNITS["claim"],
        "success, cancel": UNITS["success"],
        "failure": UNITS["failure"],
        "retry: back off, fall due, claim": UNITS["retry later"]
        + UNITS["fall due"]
        + UNITS["claim"],
        f"heartbeat (every 10 s), checkpoint, {parts}": UNITS["heartbeat"],
        "put again under a known id": UNITS["put again under a known id"],
        "shed: the sweep deletes it": UNITS["shed at its deadline"],
    }.items():
        yield page, rf"\| {re.escape(name)} \|.*\| {units} \|"
    runs = ALONE["function runs"] + ALONE["kicks"]
    bill = f"{ALONE['write units']:.2f} writes, {ALONE['function time']:.2f} the functions' time"
    yield page, f"tasks cost {million('one at a time'):.2f} dollars: {bill}"
    yield page, f"{ALONE['logs']:.2f} logs, {runs:.2f} runs and kicks, {ALONE['read units']:.2f}"
    assert MONTH["custom metrics"] == MONTH["dashboard"] == 0
    yield page, f"at {0.10:.2f} for each metric that one reads: {MONTH['alarms'] / 0.10:.0f} in"
    work = sum(MONTH.values()) - MONTH["alarms"]
    yield page, f"Of the {sum(MONTH.values()):.2f} dollars, {work:.2f} is work"
    yield page, f"that runs all day costs {ALL_MONTH}"


def of_a_slow_api() -> Iterator[tuple[str, str]]:
    """Figures of the five ways to protect an API."""
    page = "docs/how-to/slow-api.md"
    month = f"{sum(MONTH.values()):.2f} |"
    prices = {
        way.name: " | ".join(f"{one:.2f}" for one in (*way.done, way.too_late)) for way in ways()
    }
    yield page, f"| reserved, maximum concurrency | {prices['reserved concurrency']} |"
    yield page, f"| reserved, maximum concurrency | {prices['maximum concurrency']} |"
    yield page, f"| FIFO groups | {prices['FIFO groups']} |"
    yield page, f"| Step Functions with tokens | {prices['Step Functions with tokens']} |"
    yield page, f"| lifoq | {prices['lifoq']} | {month}"
    yield page, f"cost about {million('one at a time'):.0f} dollars a million"
    orders = ("newest first", "oldest first, best deadline", "oldest first")
    new, best, old = (in_time("exponential", order, 2.0) for order in orders)
    yield page, f"dropped at an age of ten calls | {old} |"
    yield page, f"best for just this load | {best} |"
    yield page, f"newest first (lifoq) | {new} |"
    equal = [in_time("equal", order, 2.0) for order in (orders[2], orders[0])]
    assert equal[0] == equal[1]
    yield page, f"does as well as newest first, {equal[0]}"


def of_a_language_model() -> Iterator[tuple[str, str]]:
    """The benchmark's own words are written from the same results."""

    def percent(way: str, share: str = "in_time", run: str = "results") -> str:
        return (
            f"{100 * row(results('model_answers', run)['outcomes'], way=way, load=2)[share]:.1f} %"
        )

    page, best = "docs/how-to/language-model.md", "semaphore, refuses after 10 s"
    yield page, f"[{percent('lifoq')} of the users in time]"
    yield page, f"and {percent('lifoq', 'for_nobody')} of the tokens are for people who leave"
    sqs = "SQS, maximum concurrency"
    yield page, f"answers {percent(sqs)}, and {percent(sqs, 'for_nobody')} of the tokens"
    counted = percent(best, run="results-counted")
    yield page, f"{percent(best)}, mostly short questions"
    yield page, f"{counted} where they count against the limit"


def follows_from_it() -> Iterator[tuple[str, str]]:
    """Yield figures that follow from the measured ones, on the pages about several queues and
    decisions."""
    page = "docs/comparison.md"
    yield page, f"busy without a pause, is {ALL_MONTH}"
    instances = 3 * 0.0816 * 1.15 * 730
    yield page, f"come to {instances:.0f} dollars a month"

    page = "docs/limits.md"
    most, writes = 1_000, CEILING["pending"]
    retried = row(COURSES, way="fails once, backs off, succeeds")["pending"]
    tenth = writes + (retried - writes) / 10
    yield page, f"{most:,} / {writes} = {PER_SECOND} tasks/s"
    yield page, f"{most:,} / {tenth:.1f} = {most / tenth:.0f} tasks/s"
    yield page, f"{2 * most / 3:.0f} tasks/s arrive and {most / 3:.0f} are served"
    yield page, f"separates them: {CEILING['in_one_partition']:.0f} tasks/s then"
    yield page, f"÷ {0.7 * CEILING['tasks_per_second']:.0f}. That fills each cell to 70 %"
    yield page, f"[{sum(MONTH.values()):.2f} dollars](cost.md"
    yield page, f"a processor that always runs, {ALL_MONTH}"

    page = "docs/decisions/fewer-write-units.md"
    steps = [UNITS[name] for name in ("put", "claim", "success")]
    yield page, f"put {steps[0]} (table, index), claim {steps[1]}"
    yield page, f"success {steps[2]} (table; entry out)"
    yield page, f"**succeeds at once** | **{AT_ONCE}** |"
    yield page, f"{' + '.join(str(UNITS[name]) for name in ('retry later', 'fall due', 'claim'))} |"
    page = "docs/decisions/keys-by-slots.md"
    yield page, f"| claim | {steps[1]} | {UNITS['claim of a key']},"
    yield page, f"| empty the slot | – | {SLOT} |"
    yield page, f"| together | {AT_ONCE} | {KEYED} |"
    yield page, f"finds its key held | – | {UNITS['claim of a key that is held']},"

    unfair, *fair, _ = (
        f"{one['read_units_per_task']:.2f}" for one in results("fairness")["floods"]
    )
    between = f"{fair[0]} read units for each task with 6,000 waiting, {fair[1]} with 56,000"
    yield "docs/decisions/fair-shares.md", f"{between}, and {unfair} without fair shares"


def set_in_the_code() -> Iterator[tuple[str, str]]:
    """Figures that are settings and constants."""
    page = "docs/long-tasks.md"
    own = inspect.signature(LongTasks.__init__).parameters
    minutes = NUMBERS[worker_scaling.SHORTEST_LOOK_BACK]
    sweeps = NUMBERS[worker_scaling.SWEEPS_IN_A_LOOK_BACK]
    yield page, f"down after {minutes} minutes (or {sweeps} sweeps)"
    yield page, f"| {', '.join(str(own[name].default) for name in ('cpu', 'memory_limit_mib'))},"
    yield page, f"`grace` ({long_tasks.LONGEST_GRACE.to_seconds():.0f} s)"
    yield page, f"Beyond {workers.MOST_STEPS} workers the number goes in steps of a twentieth"
    yield page, f"among the {CAP:,} newest and the {CAP:,} oldest that wait"
    scaling = workers.WorkerScaling()
    yield page, f"| {scaling.min_workers}, {scaling.max_workers} | the most that the downstream"

    page = "docs/ingest.md"
    yield page, f"no shorter than the function's timeout, {functions.INGEST.seconds} s"
    yield page, f"at most {ingest.MOST_AT_A_TIME} messages: by default 10 of an SQS queue"
    yield page, f"and {ingest.BrokerQueue.batch_size} of a broker"
    yield page, f"beyond SQS's {put_aside.ROOM // 1024**2} MiB"

    page = "docs/decisions/one-thread-decides.md"
    yield page, f"up to {view_index.MOST_REMEMBERED:,} rows of a type at its limit"
    yield page, f"every {NUMBERS[int(view.SHORTEST_TRUST)]} seconds, or more rarely"
    yield page, f"or more rarely: {view.ROWS_PER_SECOND} rows a second on average"
    yield page, f"polls again after {when_to_poll_or_end.SHORTEST_POLL} s"
    page = "docs/decisions/shared-limits.md"
    lasts, apart = quota_table.QUOTA_LASTS, quota_table.CLOCKS_APART
    yield page, f"may be used for {lasts:.0f} seconds from the sending"
    yield page, f"renewed after {times.RENEW_AFTER} seconds"
    yield page, f"shards {apart:.0f} seconds after its quota's end"
    yield page, f"keeps its shards for {lasts + apart:.0f} seconds"
    yield (
        "docs/decisions/adaptive-order.md",
        f"The {newest_or_oldest_first.OLDEST_AGAIN_BELOW} is a constant",
    )
    page = "docs/decisions/expired-ahead.md"
    yield page, f"more than {view.ROWS_PER_SECOND * view.SHORTEST_TRUST:.0f} rows"
    page = "docs/decisions/fair-shares.md"
    yield page, f"again at {view.ROWS_PER_SECOND} a second at most"


def test_a_figure_of_a_page_is_what_was_measured_or_set(subtests):
    for page, words in (
        *measured(),
        *of_a_slow_api(),
        *of_a_language_model(),
        *follows_from_it(),
        *set_in_the_code(),
    ):
        with subtests.test(page=page, words=words):
            text = " ".join((ROOT / page).read_text().split(" "))
            is_a_pattern = words.startswith(r"\|")
            pattern = words if is_a_pattern else re.escape(words).replace(r"\ ", r"\s+")
            assert re.search(pattern, text), words


def test_the_report_in_the_readme_adds_up():
    text = (ROOT / "README.md").read_text()
    (account,) = re.findall(r"^created .+$", text, re.MULTILINE)
    created, *ends = map(int, re.findall(r"\d+", account))
    assert created == sum(ends)
    (percent,) = re.findall(r"^(\d+) % of the tasks were shed", text, re.MULTILINE)
    assert int(percent) == round(100 * ends[-1] / created)
