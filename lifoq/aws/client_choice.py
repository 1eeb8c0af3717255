"""The choice between lifoq's own client and boto3. lifoq's own calls AWS only in processes of
lifoq's own, its Lambda functions and ``lifoq work``, which ask here. A process that a user owns
calls by boto3. In lifoq's own processes boto3 makes the calls, too, where
``LIFOQ_AWS_CLIENT=boto3`` says so, where somebody has patched it, and where it alone knows what is
asked for: a proxy, say.
"""

import os
import re
from pathlib import Path
from typing import Final

from lifoq.aws import authorities
from lifoq.aws.own_client import Endpoint, Service
from lifoq.aws.patched import patched_part
from lifoq.aws.proxies import has_proxy
from lifoq.aws.signature import Credentials
from lifoq.basics.clock import ServerClock
from lifoq.basics.host import SYSTEM, Host
from lifoq.errors import BadEnvironment

CHOICE: Final = "LIFOQ_AWS_CLIENT"
"""The variable that says who makes the calls: ``boto3``; not set, whoever is right."""
BOTO3: Final = "boto3"

USUAL_REGION: Final = re.compile(r"(af|ap|ca|eu|il|me|mx|sa|us)-[a-z]+-\d+")
"""Names of regions of the partition ``aws``, whose endpoints end in amazonaws.com."""
GIVEN: Final = ("AWS_LAMBDA_FUNCTION_NAME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
ONLY_BOTO3S: Final = (
    "AWS_ACCOUNT_ID",
    "AWS_AUTH_SCHEME_PREFERENCE",
    "AWS_CONFIG_FILE",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_PROFILE",
    "AWS_SECURITY_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_USE_FIPS_ENDPOINT",
)
PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY")
FILES: Final = ("~/.aws/config", "~/.aws/credentials")


def in_function(
    *services: str, clock: ServerClock | None = None, host: Host = SYSTEM
) -> tuple[Service, ...] | None:
    """Return these services, as a Lambda function of lifoq's calls them: in its region, by its
    role's credentials, which hold as long as the process. None where boto3 has to.

    Raises BadEnvironment where LIFOQ_AWS_CLIENT says what nobody knows, and QueueMisconfigured
    where no certificate can be read from the bundle that AWS_CA_BUNDLE or REQUESTS_CA_BUNDLE names.
    """
    known = {name.upper() for name, value in os.environ.items() if value}
    if (
        boto3_is_chosen()
        or not known.issuperset(GIVEN)
        or not known.isdisjoint(ONLY_BOTO3S)
        or any(Path(file).expanduser().exists() for file in FILES)
        or USUAL_REGION.fullmatch(_region()) is None
        or patched_part()
    ):
        return None
    endpoints = [*filter(None, map(_endpoint, services))]
    has_proxies = not known.isdisjoint(PROXIES)
    if len(endpoints) < len(services) or (has_proxies and any(map(has_proxy, endpoints))):
        return None
    credentials = Credentials(
        os.environ["AWS_ACCESS_KEY_ID"],
        os.environ["AWS_SECRET_ACCESS_KEY"],
        os.environ.get("AWS_SESSION_TOKEN"),
    )
    own_clock, bundle = clock or ServerClock(host), authorities.bundle()
    return tuple(
        Service(
            endpoint, credentials=lambda: credentials, clock=own_clock, host=host, bundle=bundle
        )
        for endpoint in endpoints
    )


def boto3_is_chosen() -> bool:
    """True if LIFOQ_AWS_CLIENT says so. BadEnvironment where nobody knows what it says."""
    chosen = os.environ.get(CHOICE)
    if chosen not in {None, "", BOTO3}:
        raise BadEnvironment(CHOICE, chosen, "must be 'boto3', or not be set")
    return chosen == BOTO3


def _region() -> str:
    return os.environ.get("AWS_DEFAULT_REGION") or os.environ.get("AWS_REGION", "")


def _endpoint(service: str) -> Endpoint | None:
    called = "SFN" if service == "states" else service.upper()
    own = os.environ.get(f"AWS_ENDPOINT_URL_{called}") or os.environ.get("AWS_ENDPOINT_URL")
    url = own or f"https://{service}.{_region()}.amazonaws.com"
    return Endpoint.at(url, service=service, region=_region())
