"""The proxies that the environment names, by boto3's rules."""

from urllib.parse import urlsplit

from lifoq.aws.own_client import Endpoint


def has_proxy(endpoint: Endpoint) -> bool:
    """True if boto3 would call the endpoint through a proxy: one is named for its scheme, and
    NO_PROXY does not except its host. ALL_PROXY means nothing to boto3."""
    # It takes longer to import than a function's start may, and few functions have a proxy.
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415

    parts = urlsplit(endpoint.url)
    return bool(getproxies().get(parts.scheme)) and not proxy_bypass(parts.netloc)
