"""A resource of a stack as moto wants it, and the client by which it is made."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

Properties = dict[str, Any]
Client = Callable[[str], Any]
"""A boto3 client of this cloud, by the service's name."""

_client: Client | None = None


def call_by(new_client: Client) -> None:
    """Make all resources by clients of this cloud."""
    global _client  # noqa: PLW0603 - moto's model registry is global, too
    _client = new_client


def client(service: str) -> Any:
    if _client is None:
        raise RuntimeError("The resource types are not installed.")
    return _client(service)


class Resource:
    """A resource in the form that moto wants: it has a name, and can be created, updated and
    deleted."""

    TYPE: ClassVar[str]
    NAME_PROPERTY: ClassVar[str] = ""

    def __init__(self, name: str, properties: Properties) -> None:
        self.name = name
        self.properties = properties

    def create(self) -> None:
        """Make it so; an update is a repetition of it unless the type says otherwise."""

    def update(self) -> None:
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

    def delete(self, _account_id: str, _region: str) -> None:
        self.remove()

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
    def update_from_cloudformation_json(
        cls,
        original_resource: Self,
        new_resource_name: str,  # noqa: ARG003 - moto's signature
        cloudformation_json: Properties,
        *_place: Any,
        **_more: Any,
    ) -> Self:
        original_resource.properties = cloudformation_json.get("Properties", {})
        original_resource.update()
        return original_resource


class StandIn(Resource):
    """A resource that has an id, so that the stack holds together, and nothing behind it."""

    TYPE = "?"

    def get_cfn_attribute(self, attribute: str) -> str:
        if attribute.endswith("Arn"):
            return f"arn:aws:local:us-east-1:123456789012:{self.name}"
        return f"{self.name}.{attribute}"
