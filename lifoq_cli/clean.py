"""``lifoq clean``: an empty cache."""

import click

from lifoq_project import cache


@click.command()
def clean() -> None:
    """Delete what lifoq keeps in its cache, to be faster.

    That is the CDK CLI with its packages, those of your task code, and what was packaged of them:
    all is fetched or made again when it is needed. End `lifoq dev` first, for it works with them.
    The caches of pip, uv and npm are their own.
    """
    freed = cache.clear()
    click.echo(f"{freed / 1e6:,.0f} MB deleted in {cache.folder()}")
