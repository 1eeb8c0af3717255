"""lifoq's own client for DynamoDB, made from a boto3 client: for processes like ``lifoq work``."""

import os
from collections.abc import Callable
from typing import Any, Final
from urllib.request import getproxies, proxy_bypass

import boto3
from botocore.session import Session

from lifoq.aws.client_choice import USUAL_REGION, boto3_is_chosen
from lifoq.aws.own_client import Endpoint, Service
from lifoq.aws.patched import is_patched
from lifoq.aws.signature import Credentials
from lifoq.basics.clock import ServerClock
from lifoq.basics.host import SYSTEM, Host

SETTINGS: Final = ("auth_scheme_preference", "ca_bundle")
"""Settings of botocore's configuration, beside what a client tells of itself."""


def service_of(client: Any, *, clock: ServerClock, host: Host = SYSTEM) -> Service | None:
    """Return DynamoDB where this boto3 client calls it; None where the client itself has to.

    Credentials are those of boto3's session, asked for at each call, so that they are refreshed.
    BadEnvironment.
    """
    if boto3_is_chosen() or is_patched():
        return None
    config, settings = client.meta.config, Session()
    endpoint = Endpoint.at(
        client.meta.endpoint_url, service="dynamodb", region=client.meta.region_name
    )
    if (
        endpoint is None
        or USUAL_REGION.fullmatch(endpoint.region) is None
        or config.signature_version not in {None, "v4"}
        or getattr(config, "account_id_endpoint_mode", None) == "required"
        or os.environ.get("REQUESTS_CA_BUNDLE")
        or any(settings.get_config_variable(name) for name in SETTINGS)
        or config.proxies
        or _has_proxy(endpoint)
    ):
        return None
    session: Any = boto3.DEFAULT_SESSION or boto3.Session()
    return Service(endpoint, credentials=_chain(session), clock=clock, host=host)


def _chain(session: Any) -> Callable[[], Credentials | None]:
    def credentials() -> Credentials | None:
        found = session.get_credentials()
        if found is None:
            return None
        frozen = found.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token)

    return credentials


def _has_proxy(endpoint: Endpoint) -> bool:
    schemes = ("https" if endpoint.encrypted else "http", "all")
    return any(map(getproxies().get, schemes)) and not proxy_bypass(endpoint.host)
