"""The task types that are requests."""

from lifoq.targets.https import HttpsTarget

TARGETS = {
    "device.check": HttpsTarget(
        url="http://10.1.4.20:8080/check",
        allowed_networks=("10.1.0.0/16",),  # without it only the internet is allowed
        timeout=5,
        max_attempts=3,
    )
}
