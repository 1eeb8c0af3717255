"""Tell stream records from before a function was created.

A stream mapping that is created anew begins with all that the stream still holds, up to a day.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from lifoq.environment import Environment
from lifoq.errors import BadEnvironment

logger = Logger()


def came_since_deployment(record: Mapping[str, Any]) -> bool:
    """Return False for a stream record from before this function was created. The function that
    was there then, if there was one, has dealt with it."""
    return bool(record["dynamodb"]["ApproximateCreationDateTime"] >= deployed_at())


@cache
def deployed_at() -> int:
    """Return epoch seconds; 0 where the date cannot be read: what is counted or told twice does
    less harm than a function that fails."""
    try:
        return int(Environment.of_this_process().deployed.timestamp())
    except BadEnvironment:
        logger.exception("after a new deployment, what the stream still holds may be told twice")
        return 0
