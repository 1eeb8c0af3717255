"""What the benchmark finds."""

from typing import Annotated

from benchmarks.record import Row


class Storm(Row):
    """Devices that report faster than they can be checked. A check is useful where no newer report
    of its device had been put when it began."""

    reports_have: Annotated[str, "reports have"]
    checks: Annotated[int, "checks"]
    useful: Annotated[int, "of them useful"]
    useful_per_second: Annotated[float, "useful checks/s"]
    last_checked: Annotated[int, "last reports checked"]
    seconds: Annotated[float, "s until nothing waits"]
    units_per_useful: Annotated[float, "write units a useful check"]


class Results(Row):
    devices: int
    reports_per_device: int
    storms: list[Storm]
