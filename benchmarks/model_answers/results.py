"""The results of the benchmark."""

from typing import Annotated

from benchmarks.performance.text import percent
from benchmarks.record import Row


class Outcome(Row):
    """The outcome of one hour, by one way."""

    way: Annotated[str, "way"]
    load: float
    """A multiple of what the API can do."""
    slots: Annotated[int | None, "requests at a time"]
    """The number that a line has; None for lifoq, which counts requests and tokens."""
    in_time: Annotated[float, "in time", percent]
    """The share of the users who were answered while they waited."""
    heavy_in_time: Annotated[float, "in time, of the heaviest quarter", percent]
    for_nobody: Annotated[float, "tokens for nobody", percent]
    """The share of the tokens that were spent for users who had no answer in time."""
    refusals: Annotated[float, "429s a question"]


class Results(Row):
    outcomes: list[Outcome]

    def at(self, load: float) -> list[Outcome]:
        """Return the outcomes at one load, a row for each way."""
        return [one for one in self.outcomes if one.load == load]

    def behind(self, way: str, load: float) -> float:
        """Return the points by which a way has fewer in time than the best one."""
        return 100 * (max(one.in_time for one in self.at(load)) - self.of(way, load).in_time)

    def of(self, way: str, load: float) -> Outcome:
        """Return the outcome of one way at one load."""
        return next(one for one in self.at(load) if one.way == way)
