"""The authorities whose certificates a TLS connection trusts: those that botocore brings along, or
a bundle of the user's own, as companies name it.
"""

import functools
import os
import ssl
from pathlib import Path
from typing import Final, NamedTuple

import botocore

from lifoq.errors import QueueMisconfigured

FIRST: Final = "AWS_CA_BUNDLE"
LAST: Final = "REQUESTS_CA_BUNDLE"
VARIABLES: Final = (FIRST, LAST)
"""The environment variables that name a bundle."""
OF_PROFILE: Final = "ca_bundle"
"""The setting of a profile in boto3's configuration that names one."""


class Bundle(NamedTuple):
    """A file of certificates, and the setting that names it."""

    setting: str
    path: str


def bundle(*, of_profile: str | None = None) -> Bundle | None:
    """Return the bundle that boto3 would take; None where botocore's own authorities hold.

    AWS_CA_BUNDLE comes before the profile's ``ca_bundle``, and that before REQUESTS_CA_BUNDLE.
    """
    told = (
        (FIRST, os.environ.get(FIRST)),
        (OF_PROFILE, of_profile),
        (LAST, os.environ.get(LAST)),
    )
    return next((Bundle(setting, path) for setting, path in told if path is not None), None)


@functools.cache
def trusting(own: Bundle | None) -> ssl.SSLContext:
    """Return a TLS context that trusts the authorities of a bundle alone; None: those of botocore.

    A file is read once in a process. Raises QueueMisconfigured where no certificate can be read
    from a bundle.
    """
    if own is None:
        return ssl.create_default_context(
            cafile=str(Path(botocore.__file__).with_name("cacert.pem"))
        )
    # Not the default context: from Python 3.13 on it is strict about what RFC 5280 wants of an
    # authority's certificate. Companies' own often lack it, and boto3 takes them.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(own.path)
    except OSError as error:  # ssl.SSLError is one, too
        raise QueueMisconfigured(
            f"{own.setting}={own.path!r}: no certificate can be read from it ({error}): name a "
            "file of certificates in PEM, or do not set it"
        ) from error
    return context
