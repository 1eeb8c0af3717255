"""``python -m benchmarks.reports``: each device reports ten times while its reports wait."""

from collections.abc import Mapping
from typing import Any, Final

import click

from benchmarks.record import recording
from benchmarks.reports.results import Results, Storm
from benchmarks.units import Metered
from benchmarks.world import World
from lifoq import Lifetimes, WorkerSettings

DEVICES: Final = 40
REPORTS: Final = 10
"""Of each device."""
PER_SECOND: Final = 120.0
"""Reports, of all devices in turn."""
SLOTS: Final = 2
SERVICE: Final = 0.1
"""Seconds of a check: 20 a second, a sixth of the reports that come in one."""
ANSWER: Final = 0.005
"""Seconds that a call takes."""
POLICIES: Final[Mapping[str, str | None]] = {
    "no ids": None,
    "an id for each device, kept": "keep",
    "an id for each device, replaced": "replace",
}


@click.command()
def main() -> None:
    """Each device reports ten times while it waits, in virtual time: useful checks, and their write
    units."""
    with recording("reports", "python -m benchmarks.reports") as found:
        found.results = Results(
            devices=DEVICES,
            reports_per_device=REPORTS,
            storms=[storm(told, if_exists) for told, if_exists in POLICIES.items()],
        )


def storm(told: str, if_exists: str | None) -> Storm:
    """The reports, and the checks until none waits."""
    table = Metered(answer=ANSWER)
    latest: dict[int, int] = {}
    checked: list[bool] = []
    last: set[int] = set()
    ended = 0.0

    def check(payload: Any) -> None:
        nonlocal ended
        device, number = payload["device"], payload["number"]
        checked.append(number == latest[device])
        table.host.sleep(SERVICE)
        ended = world.now
        if number == REPORTS - 1:
            last.add(device)

    def come(place: int) -> None:
        number, device = divmod(place, DEVICES)
        latest[device] = number
        terms = {"task_id": f"check-{device}", "if_exists": if_exists} if if_exists else {}
        world.put({"device": device, "number": number}, **terms)

    settings = WorkerSettings(in_flight=SLOTS, linger=0.5)
    world = World(table, check, lifetimes=Lifetimes(), settings=settings)
    world.feed(((place / PER_SECOND, place) for place in range(DEVICES * REPORTS)), come)
    world.run(120.0)
    return Storm(
        reports_have=told,
        checks=len(checked),
        useful=sum(checked),
        useful_per_second=sum(checked) / ended,
        last_checked=len(last),
        seconds=ended,
        units_per_useful=table.write_units / sum(checked),
    )


if __name__ == "__main__":
    main()
