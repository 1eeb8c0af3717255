"""lifoq's own client for DynamoDB, made from a boto3 client: for processes like ``lifoq work``."""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import boto3
from botocore.session import Session

from lifoq.aws import authorities
from lifoq.aws.client_choice import BOTO3, CHOICE, USUAL_REGION, boto3_is_chosen
from lifoq.aws.own_client import Endpoint, Service
from lifoq.aws.patched import patched_part
from lifoq.aws.proxies import has_proxy
from lifoq.aws.signature import Credentials
from lifoq.basics.clock import ServerClock
from lifoq.basics.host import SYSTEM, Host

AUTH_SCHEMES: Final = "auth_scheme_preference"


def service_of(client: Any, *, clock: ServerClock, host: Host = SYSTEM) -> Service | str:
    """Return DynamoDB where this boto3 client calls it; or the reason why the client itself has to
    make the calls.

    Credentials are those of boto3's session, asked for at each call, so that they are refreshed.
    BadEnvironment, and QueueMisconfigured where no certificate can be read from a bundle that
    boto3's settings name.
    """
    if boto3_is_chosen():
        return f"{CHOICE}={BOTO3} says so"
    if part := patched_part():
        return f"other code has replaced or extended {part}"
    settings, region = Session(), client.meta.region_name
    endpoint = Endpoint.at(client.meta.endpoint_url, service="dynamodb", region=region)
    if endpoint is None:
        return "the endpoint's URL has more than a scheme, a host and a port"
    if reason := _only_boto3s(client.meta.config, settings, endpoint):
        return reason
    session: Any = boto3.DEFAULT_SESSION or boto3.Session()
    return Service(
        endpoint,
        credentials=_chain(session),
        clock=clock,
        host=host,
        bundle=authorities.bundle(of_profile=settings.get_config_variable("ca_bundle")),
    )


def _only_boto3s(config: Any, settings: Session, endpoint: Endpoint) -> str | None:
    """The reason why boto3 alone can call as it is configured; None where there is none."""
    scheme = urlsplit(endpoint.url).scheme
    by_environment = f"{scheme.upper()}_PROXY names a proxy, and NO_PROXY does not except"
    reasons = {
        f"region {endpoint.region} is outside of the partition aws": (
            USUAL_REGION.fullmatch(endpoint.region) is None
        ),
        f"signature_version={config.signature_version}": (
            config.signature_version not in {None, "v4"}
        ),
        "account_id_endpoint_mode=required": (
            getattr(config, "account_id_endpoint_mode", None) == "required"
        ),
        f"{AUTH_SCHEMES} is set": bool(settings.get_config_variable(AUTH_SCHEMES)),
        f"its configuration names a proxy for {scheme}": scheme in (config.proxies or {}),
        # A configuration with proxies comes before the environment, whatever it names.
        f"{by_environment} {endpoint.host}": config.proxies is None and has_proxy(endpoint),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _chain(session: Any) -> Callable[[], Credentials | None]:
    def credentials() -> Credentials | None:
        found = session.get_credentials()
        if found is None:
            return None
        frozen = found.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token)

    return credentials
