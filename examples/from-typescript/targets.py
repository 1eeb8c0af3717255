"""The task type, which is a request to the worker in TypeScript."""

import os

from lifoq.targets.https import HttpsTarget

HERE = "http://127.0.0.1:8773/words"
WORKER = os.environ.get("WORKER", HERE)
"""The worker's address: on AWS ``https://``, and of the internet or of your VPC."""

TARGETS = {
    "words.count": HttpsTarget(
        url=WORKER,
        # Without them only the internet is allowed.
        allowed_networks=("127.0.0.0/8",) if WORKER == HERE else (),
        timeout=10,
        in_flight=2,
    )
}
