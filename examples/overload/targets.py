"""The task type, which is a request to the slow system."""

import os

from lifoq.targets.https import HttpsTarget

TARGETS = {
    "device.check": HttpsTarget(
        url=os.environ.get("SLOW_SYSTEM", "http://127.0.0.1:8770/check"),
        timeout=5,
        allowed_networks=("127.0.0.0/8",),  # without them only the internet is allowed
    )
}
