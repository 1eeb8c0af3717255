"""Take the pictures of the README anew, ``make pictures``: the console while the example of an
overload runs, and the report on that run. Needs chromium."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
OUT = ROOT / "out" / "pictures"
EXAMPLE = OUT / "project"
WIDTH, HEIGHT = 1200, 980
"""The part of a page that is shown, in pixels of the page."""
SCALE = 0.75
"""Pixels of the picture for one of the page: it is shown at half of its width."""
DRAWN_MILLISECONDS = 15_000
"""The time, by the page's own clock, after which the picture is taken."""


@click.command()
@click.option("--seconds", default=600, show_default=True, help="How long the overload lasts.")
def main(seconds: int) -> None:
    """Run the example of an overload, and take a picture of its console when the overload has
    lasted for nine tenths of the time, and of its report in the end."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(ROOT / "examples" / "overload", EXAMPLE)
    command = [sys.executable, "-u", "run.py", f"--seconds={seconds}", f"--out={OUT}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=EXAMPLE, env=environment, stdout=subprocess.PIPE, text=True
    ) as example:
        console, taken = "", False
        for line in example.stdout or ():
            click.echo(line, nl=False)
            if found := re.match(r"Console of \S+: (\S+)", line):
                console = found[1]
            lasted = re.match(r"overload +(\d+) s", line)
            if not taken and lasted and int(lasted[1]) >= 0.9 * seconds:
                take(console, IMAGES / "console.png")
                taken = True
    if example.returncode or not taken:
        raise click.ClickException("the example has failed: its last lines tell why")
    take((OUT / "report.html").as_uri(), IMAGES / "report.png")


def take(address: str, file: Path) -> None:
    """Take a picture of a page, in light colours."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise click.ClickException("chromium is not on the PATH: install it")
    with TemporaryDirectory() as home:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += [f"--user-data-dir={home}", f"--window-size={WIDTH},{HEIGHT}"]
        options += [f"--force-device-scale-factor={SCALE}"]
        options += [f"--virtual-time-budget={DRAWN_MILLISECONDS}", f"--screenshot={file}"]
        # What it keeps beside its profile, crash dumps among it, goes there, too.
        own = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
        subprocess.run(
            [browser, *options, address], check=True, capture_output=True, env={**os.environ, **own}
        )
    click.echo(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
