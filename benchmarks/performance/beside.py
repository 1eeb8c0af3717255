"""A contender of ours beside bare calls: every run's speed, and their medians in figures."""

from dataclasses import dataclass

import altair as alt

from benchmarks.performance import charts
from benchmarks.performance.section import AnyChart, Results, Table
from benchmarks.performance.text import span


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Two contenders by name, and the key by which their ``runs`` and ``ratios`` are grouped."""

    ours: str
    bare: str
    group: str

    def speeds(self, results: Results, *, title: str | None) -> AnyChart:
        """Medians as bars, each run as a dot; ``title``: of the groups' axis."""
        medians = [
            {self.group: row[self.group], "contender": contender, "rate": row[key]}
            for contender, key in (
                (self.ours, "tasks_per_second"),
                (self.bare, "bare_tasks_per_second"),
            )
            for row in results["ratios"]
        ]
        x = alt.X(f"{self.group}:N", title=title, sort=None, axis=alt.Axis(labelAngle=0))
        offset = alt.XOffset("contender:N", sort=[self.ours, self.bare])
        bars: alt.Chart = alt.Chart(charts.values(medians)).mark_bar()
        dots: alt.Chart = alt.Chart(charts.values(results["runs"])).mark_point(
            color=charts.INK, size=25
        )
        both: AnyChart = alt.layer(
            bars.encode(
                x=x,
                xOffset=offset,
                y=alt.Y("rate:Q", title="tasks per second"),
                color=charts.color("contender"),
            ),
            dots.encode(x=x, xOffset=offset, y="tasks_per_second:Q"),
        )
        return both.properties(width=charts.WIDTH)

    def figures(self, results: Results) -> Table:
        bares = f"{self.bare}'" if self.bare.endswith("s") else f"{self.bare}'s"
        return Table.of(
            results["ratios"],
            title="The same in figures: medians, and processor time of this process",
            columns={
                self.group.replace("_", " "): self.group,
                f"{self.ours}, tasks/s": "tasks_per_second",
                f"{self.bare}, tasks/s": "bare_tasks_per_second",
                "ratio": "ratio",
                "least to most": lambda row: span([row["ratio_min"], row["ratio_max"]]),
                "CPU ms per task": "client_cpu_ms_per_task",
                bares: "bare_client_cpu_ms_per_task",
            },
        )
