"""``python -m lifoq_localcloud serve`` keeps a local cloud running."""

from lifoq_localcloud.commands import main

main()
