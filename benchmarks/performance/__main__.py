"""``python -m benchmarks.performance``: write ``docs/performance.md`` from the results on disk."""

import click

from benchmarks.performance import page


@click.command()
def main() -> None:
    """Write docs/performance.md and docs/charts from the results.json of every benchmark."""
    page.write()
    click.echo(f"{page.DOCS / page.PAGE} is written.")


if __name__ == "__main__":
    main()
