"""What every table promises, as tests: for a table of your own, beside DynamoDB's and memory's.

In a test module of yours, ``from lifoq.testing.contract import *``, and two fixtures: ``table``, an
empty table, and ``past``, a ``PastTheLibrary`` of it.
"""

from lifoq.testing.contract.history import *  # noqa: F403
from lifoq.testing.contract.keyed import *  # noqa: F403
from lifoq.testing.contract.replacing import *  # noqa: F403
from lifoq.testing.contract.store import *  # noqa: F403
from lifoq.testing.contract.table import *  # noqa: F403
from lifoq.testing.fixtures import *  # noqa: F403
