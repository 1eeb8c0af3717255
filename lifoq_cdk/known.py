"""Settings that have to be known when an application is synthesized."""

import aws_cdk as cdk

from lifoq.errors import InvalidInput


def check(**settings: object) -> None:
    """Raise ``InvalidInput`` where a number, a text or a duration is a token, such as a template's
    parameter: nothing could be checked, and nothing computed from it."""
    for name, value in settings.items():
        if _is_token(value):
            problem = (
                "is known only when the stack is deployed, which is too late for this setting: "
                "give the value itself, from the context or from code"
            )
            raise InvalidInput(name, "a token", problem)


def _is_token(value: object) -> bool:
    if isinstance(value, cdk.Duration):
        return value.is_unresolved()
    return isinstance(value, str | int | float) and cdk.Token.is_unresolved(value)
