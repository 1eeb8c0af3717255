"""The types of resources that stacks here may have."""

from typing import Any, Final

from moto.cloudformation import parsing
from moto.cloudformation.models import CloudFormationBackend

from lifoq_localcloud.deployments.resources import (  # noqa: F401 - moto finds what is defined
    access,
    alarms,
    buckets,
    containers,
    functions,
    http_apis,
    keys,
    logs,
    nested,
    parameters,
    queues,
    rules,
    schedules,
    state_machines,
    tables,
    topics,
)
from lifoq_localcloud.deployments.resources.changes import in_place
from lifoq_localcloud.deployments.resources.resource import Client, StandIn, call_by
from lifoq_localcloud.moto_adapter.patch import replace

NOTHING_BEHIND: Final = ("Custom::", "AWS::EC2::")
"""Networks: nothing is needed of them here, and moto deletes them in an order that fails."""


def install(client: Client) -> None:
    """Teach moto these types. A type that neither of us knows becomes a ``StandIn``."""
    call_by(client)
    parsing.get_model_list.cache_clear()
    parsing.get_model_map.cache_clear()
    parsing.get_name_type_map.cache_clear()
    replace(parsing, "resource_class_from_type", class_of)
    # moto looks for a name as its own class of the type has it, not as ours.
    replace(parsing, "resource_name_property_from_type", parsing.get_name_type_map().get)
    resolve = CloudFormationBackend._resolve_update_parameters  # noqa: SLF001 - no public way

    def resolve_update_parameters(
        backend: Any, instance: Any, incoming_params: list[Any]
    ) -> dict[str, str]:
        """The previous value of a parameter that was never given is its default."""
        known = [
            one
            for one in incoming_params
            if not one.get("UsePreviousValue") or one["ParameterKey"] in instance.parameters
        ]
        return resolve(backend, instance, known)

    replace(CloudFormationBackend, "_resolve_update_parameters", resolve_update_parameters)


def changeable() -> dict[str, type[Any]]:
    """Return the classes of the types that are changed in place, by the names of the types."""
    found = parsing.get_model_map()
    return {name: found[name] for name in sorted(found) if in_place(found[name])}


def is_stand_in(resource_type: str) -> bool:
    """True if a resource of this type only has an id here, and does nothing."""
    return class_of(resource_type) is StandIn


def class_of(resource_type: str) -> type[Any]:
    """Return the class that makes resources of a type."""
    if resource_type.startswith(NOTHING_BEHIND):
        return StandIn
    return parsing.get_model_map().get(resource_type, StandIn)
