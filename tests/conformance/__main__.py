"""The local cloud's DynamoDB against a public suite whose answers were recorded on AWS.

``make conformance`` fetches the suite by name and commit, starts a local cloud, runs the suite with
its own runner, and writes the score and the names of what fails into ``score.json`` beside this
file, and into the table of ``docs/local-cloud.md``. It ends with 1 where something fails that is
not in the score so far.

The suite needs git, npm and the network, once: its folder is kept. ``--suite`` takes one that is
there already. Its own tests of adding an index to a table are left out: they take minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

from lifoq_localcloud import LocalCloud

REPOSITORY: Final = "https://github.com/nubo-db/dynamodb-conformance"
COMMIT: Final = "0ba4393668860db921afa5728feffe68b55e3e93"
LEFT_OUT: Final = "tests/tier2/updateTable/gsi.test.ts"
TIERS: Final = {
    "tier1": "items, queries, tables",
    "tier2": "streams, transactions, TTL, tags, PartiQL",
    "tier3": "exact sentences, limits, what was before expressions",
}

ROOT = Path(__file__).parents[2]
SCORE = Path(__file__).with_name("score.json")
PAGE = ROOT / "docs" / "local-cloud.md"
BEGIN, END = "<!-- conformance -->\n", "<!-- /conformance -->\n"


def fetched(folder: Path) -> Path:
    """Return the folder of the suite, with the packages that it needs."""
    if not (folder / "package.json").exists():
        folder.mkdir(parents=True)
        for step in (
            ["git", "init", "--quiet"],
            ["git", "fetch", "--quiet", "--depth=1", REPOSITORY, COMMIT],
            ["git", "checkout", "--quiet", "FETCH_HEAD"],
        ):
            subprocess.run(step, cwd=folder, check=True)
    if not (folder / "node_modules").exists():
        # Without its lock file: that names a version which can no longer be had.
        install = ["npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit"]
        subprocess.run([*install, "--no-fund", "--loglevel=error"], cwd=folder, check=True)
    return folder


def results(suite: Path) -> list[tuple[str, str, bool]]:
    """Run the suite on a local cloud of its own. Return tier, name and success of each case."""
    with tempfile.TemporaryDirectory() as place, LocalCloud(Path(place) / "cloud") as cloud:
        out = Path(place) / "results.json"
        environment = {**os.environ, **cloud.environment(), "DYNAMODB_ENDPOINT": cloud.endpoint}
        # It ends with 1 as soon as one case fails; what counts is the file.
        subprocess.run(
            [
                *("npx", "vitest", "run", "--exclude", LEFT_OUT),
                *("--reporter=json", f"--outputFile={out}"),
            ],
            cwd=suite,
            env=environment,
            check=False,
            stdout=subprocess.DEVNULL,
        )
        told: dict[str, Any] = json.loads(out.read_text())
    return [
        (Path(file["name"]).relative_to(suite / "tests").parts[0], case["fullName"], passed)
        for file in told["testResults"]
        for case in file["assertionResults"]
        for passed in [case["status"] == "passed"]
    ]


def score(cases: list[tuple[str, str, bool]]) -> dict[str, Any]:
    """Return how many cases each tier has, how many of them hold, and which do not."""
    every = Counter(tier for tier, _, _ in cases)
    held = Counter(tier for tier, _, passed in cases if passed)
    return {
        "suite": REPOSITORY.removeprefix("https://"),
        "commit": COMMIT,
        "tiers": {tier: {"cases": every[tier], "hold": held[tier]} for tier in sorted(every)},
        "fail": sorted(f"{tier}: {name}" for tier, name, passed in cases if not passed),
    }


def page(told: dict[str, Any]) -> str:
    """Return the table of the page."""
    lines = ["| part of the suite | cases | hold |", "|---|---|---|"]
    for tier, counts in told["tiers"].items():
        lines.append(f"| {tier[-1]}: {TIERS[tier]} | {counts['cases']} | {counts['hold']} |")
    lines += ["", "What fails:", "", *(f"- {one}" for one in told["fail"]), ""]
    return "\n".join(lines)


def written(text: str, told: dict[str, Any]) -> str:
    """Return the page's text with the table of this score."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{page(told)}{END}{rest.split(END)[1]}"


@click.command()
@click.option(
    "--suite",
    type=click.Path(path_type=Path, resolve_path=True),
    default=ROOT / ".build" / "conformance" / COMMIT,
    help="Folder of the suite; fetched where it is not there.",
)
def main(suite: Path) -> None:
    """Run the suite, write its score, and name what no longer holds."""
    before = set(json.loads(SCORE.read_text())["fail"])
    told = score(results(fetched(suite)))
    SCORE.write_text(json.dumps(told, indent=2) + "\n")
    PAGE.write_text(written(PAGE.read_text(), told))
    for tier, counts in told["tiers"].items():
        click.echo(f"{tier}: {counts['hold']} of {counts['cases']} hold ({TIERS[tier]})")
    if new := [one for one in told["fail"] if one not in before]:
        click.echo("Held before, and no longer:\n" + "\n".join(new))
        sys.exit(1)


if __name__ == "__main__":
    main()
