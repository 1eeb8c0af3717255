"""``python -m localcloud serve`` keeps a local cloud running."""

from .commands import main

main()
