"""``report.html``: one page that opens offline, with everything that it needs inside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from lifoq.basics.shown import finalize
from lifoq_analytics.page import about, details, figures, timeline, verdict, words

Answers = Mapping[str, Any]
Points = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Series:
    """The points of the charts, as JSON: few, however many tasks there are."""

    over_time: Points
    """``time`` and ``until`` (ISO), rates per second of ``arrivals``, ``arrivals_shed`` (those of
    them that were shed, whenever that was), ``first_claims`` and ``shed``, which are None where too
    little of the time is known; at ``until``: ``waiting``, ``claimed``,
    ``oldest_waiting_seconds``."""
    waits: Points
    """Seconds, ``p50``, ``p95`` and ``p99``, of those first claimed in the point that begins at
    ``time``."""
    ages: Points
    """The number of ``tasks`` of a ``kind`` (claimed, shed, waiting) that waited for an ``age``;
    ``bin`` orders the ages."""


def render(answers: Answers, drawn: Series) -> str:
    """The whole page. ``answers`` is ``summary.json``."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__, ""),
        autoescape=True,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(count=words.count, letter=_letter)
    known = {**about.NOTHING, **(answers.get("about") or {})}
    return environment.get_template("page.html.j2").render(
        answers=answers,
        queue=known["queue"] or answers["table"],
        stage=known["stage"],
        verdict=verdict.sentence(answers),
        period=words.period(answers["window"]["from"], answers["window"]["to"]),
        notes=details.notes(answers),
        figures=figures.main(answers),
        facts=figures.others(answers),
        account=details.account(answers["tasks"]),
        timeline=timeline.of(answers, over_time=drawn.over_time, waits=drawn.waits, known=known),
        moment_columns=details.MOMENT_COLUMNS,
        ages=details.ages(drawn.ages),
        fresh=details.freshness(answers),
        types=details.types(answers["by_type"]),
        now=details.now(answers),
        oldest=details.oldest(answers),
        sheddings=details.sheddings(answers),
        failures=details.failures(answers),
        attempts=details.attempts(answers),
        keys=details.keys(answers),
        spread_over_keys=details.spread_over_keys(answers),
        cost=details.cost(answers["cost"]),
        covers=details.covers(answers),
    )


def _letter(number: int) -> str:
    """A for the first."""
    return chr(ord("A") + (number - 1) % 26)
