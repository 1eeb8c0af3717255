"""A resource of a stack as moto wants it, and the client by which it is made."""

from collections.abc import Callable
from typing import Any, ClassVar, Final, Self

Properties = dict[str, Any]
Client = Callable[[str], Any]
"""A boto3 client of this cloud, by the service's name."""

_client: Client | None = None

_OF_TEXT: Final[dict[str, Callable[[str], Any]]] = {
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": lambda value: value.lower() == "true",
}
"""Readers of a text in a template, by the type that the service's model has there."""


def call_by(new_client: Client) -> None:
    """Make all resources by clients of this cloud."""
    global _client  # noqa: PLW0603 - moto's model registry is global, too
    _client = new_client


def client(service: str) -> Any:
    """Return the client, which takes the texts that a template may have for numbers, such as the
    value of a parameter."""
    if _client is None:
        raise RuntimeError("The resource types are not installed.")
    found = _client(service)
    found.meta.events.register("provide-client-params", _typed_parameters, unique_id="template")
    return found


def _typed_parameters(params: Properties, model: Any, **_: Any) -> Properties:
    return params if model.input_shape is None else _typed(params, model.input_shape)


def _typed(value: Any, shape: Any) -> Any:
    """Return a property as the service's model wants it."""
    match shape.type_name, value:
        case "structure", dict():
            known = shape.members
            return {k: _typed(v, known[k]) if k in known else v for k, v in value.items()}
        case "map", dict():
            return {k: _typed(v, shape.value) for k, v in value.items()}
        case "list", list():
            return [_typed(one, shape.member) for one in value]
        case kind, str() if kind in _OF_TEXT:
            return _OF_TEXT[kind](value)
    return value


class Resource:
    """A resource in the form that moto wants: it has a name, and can be created, updated and
    deleted."""

    TYPE: ClassVar[str]
    NAME_PROPERTY: ClassVar[str] = ""
    CHANGES: ClassVar[frozenset[str]] = frozenset()
    """The properties that :meth:`update` brings to the service."""

    def __init__(self, name: str, properties: Properties) -> None:
        self.name = name
        self.properties = properties

    def create(self) -> None:
        """Make it so; an update is a repetition of it unless the type says otherwise."""

    def update(self, before: Properties) -> None:  # noqa: ARG002 - for those that need it
        """Bring the changed properties to the service; ``before``: what it was given last."""
        self.create()

    def remove(self) -> None:
        """Undo :meth:`create`."""

    @property
    def physical_resource_id(self) -> str:
        return self.name

    def get_cfn_attribute(self, attribute: str) -> str:
        return f"{self.name}.{attribute}"

    def is_created(self) -> bool:
        return True

    @classmethod
    def cloudformation_type(cls) -> str:
        return cls.TYPE

    @classmethod
    def cloudformation_name_type(cls) -> str:
        return cls.NAME_PROPERTY

    @classmethod
    def has_cfn_attr(cls, _attribute: str) -> bool:
        return True

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *_place: Any, **_more: Any
    ) -> Self:
        resource = cls(resource_name, cloudformation_json.get("Properties", {}))
        resource.create()
        return resource

    @classmethod
    def change(cls, resource: Self, properties: Properties, before: Properties) -> None:
        resource.properties = properties
        resource.update(before)

    @classmethod
    def destroy(cls, resource: Self) -> None:
        resource.remove()


class StandIn(Resource):
    """A resource that has an id, so that the stack holds together, and nothing behind it."""

    TYPE = "?"

    def get_cfn_attribute(self, attribute: str) -> str:
        if attribute.endswith("Arn"):
            return f"arn:aws:local:us-east-1:123456789012:{self.name}"
        return f"{self.name}.{attribute}"
