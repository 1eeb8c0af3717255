"""Targets as text, for whoever deploys them and for the function that runs them."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from lifoq.basics import jsontext
from lifoq.basics.host import SYSTEM, Host, microseconds
from lifoq.errors import InvalidInput
from lifoq.targets.function import LambdaHandler, LambdaTarget
from lifoq.targets.https import HttpsHandler, HttpsTarget
from lifoq.worker.handlers.registry import Registry, Terms

Target = HttpsTarget | LambdaTarget

MOST_BYTES: Final = 2_000
"""All targets of a queue as JSON: Lambda takes 4 KB of environment variables, with everything else
(https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""
CONNECTIONS: Final = 200
"""The most connections to Lambda, from the tasks of one type."""
SECRET_KEPT: Final = 300.0
"""Seconds for which a secret is not asked for again: so it may be rotated."""

_KINDS: Final[dict[str, type[Target]]] = {"https": HttpsTarget, "lambda": LambdaTarget}


def encode(targets: Mapping[str, Target]) -> str:
    """Return the targets by task type, as compact JSON. Raises InvalidInput where that is too
    long."""
    document = {name: _encoded(target) for name, target in targets.items()}
    text = jsontext.encode(document, "targets")
    if jsontext.size(text) > MOST_BYTES:
        problem = (
            f"are {jsontext.size(text):,} bytes of settings, and {MOST_BYTES:,} fit: write code "
            "for some of them"
        )
        raise InvalidInput("targets", sorted(targets), problem)
    return text


def decode(text: str) -> dict[str, Target]:
    """Return the targets by their task types, of the text that the deployment wrote."""
    return {name: _decoded(target) for name, target in json.loads(text).items()}


def register(registry: Registry, targets: Mapping[str, Target]) -> None:
    """Register the targets as task types. Raises InvalidInput where code has registered the same
    type."""
    secrets = Secrets()
    for name, target in targets.items():
        handler = (
            HttpsHandler(target, secret=secrets.text)
            if isinstance(target, HttpsTarget)
            else LambdaHandler(target, client=_lambda_client)
        )
        terms = {term.name: getattr(target, term.name) for term in fields(Terms)}
        registry.task(name, timeout=target.timeout, **terms)(handler)


class Secrets:
    """The texts of secrets, kept for a while."""

    def __init__(
        self,
        client: Callable[[], Any] | None = None,
        host: Host = SYSTEM,
    ) -> None:
        """``client``: made when the first secret is asked for; by default boto3's."""
        self._make_client = client or _secrets_client
        self._host = host
        self._client: Any = None
        self._kept: dict[str, tuple[int, str]] = {}
        self._asking = threading.Lock()

    def text(self, name: str) -> str:
        """Return the text of a secret; it is asked for once by many attempts."""
        with self._asking:  # many attempts begin at the same time
            return self._text(name)

    def _text(self, name: str) -> str:
        now = self._host.monotonic()
        if name in self._kept and now < self._kept[name][0]:
            return self._kept[name][1]
        if self._client is None:
            self._client = self._make_client()
        text: str = self._client.get_secret_value(SecretId=name)["SecretString"]
        self._kept[name] = now + microseconds(SECRET_KEPT), text
        return text


def _secrets_client() -> Any:
    from lifoq.aws.boto3_clients import new_client  # noqa: PLC0415 - a cold start less to import

    return new_client("secretsmanager")


def _lambda_client(timeout: float) -> Any:
    from lifoq.aws.boto3_clients import new_client, once_only, patient  # noqa: PLC0415 - as above

    own = patient(read_timeout=timeout, max_pool_connections=CONNECTIONS)
    return new_client("lambda", once_only(own))


def _encoded(target: Target) -> dict[str, Any]:
    """Return the target's settings without those that have their default."""
    (kind,) = (name for name, one in _KINDS.items() if isinstance(target, one))
    plain = {field.name: field.default for field in fields(target)}
    given = {
        name: value for name, value in asdict(target).items() if value not in (plain[name], {})
    }
    return {"kind": kind, **given}


def _decoded(document: dict[str, Any]) -> Target:
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in document.items()
        if name != "kind"
    }
    return _KINDS[document["kind"]](**settings)
