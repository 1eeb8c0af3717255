"""The task types that are requests."""

import os

from lifoq.targets.https import HttpsTarget

TRIED = os.environ.get("OLD_SYSTEM")
"""On your machine, the address of one that you try it with."""

TARGETS = {
    "device.check": HttpsTarget(
        url=TRIED or "http://10.1.4.20:8080/check",
        # Without them only the internet is allowed.
        allowed_networks=("127.0.0.0/8",) if TRIED else ("10.1.0.0/16",),
        timeout=5,
        max_attempts=3,
    )
}
