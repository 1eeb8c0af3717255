"""Stacks within stacks."""

from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import CloudFormationBackend, cloudformation_backends
from moto.cloudformation.utils import get_stack_from_s3_url
from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.deployments.resources.resource import Properties, Resource


class NestedStackError(Exception):
    """A stack within another one failed."""


class NestedStack(Resource, CloudFormationModel):
    """A stack as a resource of another one. moto's tells no outputs, and each change would make
    another stack of it."""

    TYPE = "AWS::CloudFormation::Stack"
    CHANGES = frozenset({"Parameters", "TemplateURL"})

    def create(self) -> None:
        parameters = self.properties.get("Parameters", {})
        self._backend.create_stack(name=self.name, template=self._template(), parameters=parameters)
        try:
            self._expect("CREATE_COMPLETE")
        except NestedStackError:
            self._backend.delete_stack(self.name)
            raise

    def update(self, before: Properties) -> None:  # noqa: ARG002 - as for all types
        parameters = self.properties.get("Parameters", {})
        try:
            self._backend.update_stack(
                name=self.name,
                template=self._template(),
                role_arn=None,
                parameters=[
                    {"ParameterKey": name, "ParameterValue": value}
                    for name, value in parameters.items()
                ],
                tags=None,
            )
        except ValidationError as error:
            if "No updates are to be performed" not in str(error.message):
                raise
            return
        self._expect("UPDATE_COMPLETE")

    def remove(self) -> None:
        self._backend.delete_stack(self.name)
        if any(one.name == self.name for one in self._backend.stacks.values()):
            self._expect("DELETE_COMPLETE")

    @property
    def physical_resource_id(self) -> str:
        return str(self._backend.get_stack(self.name).stack_id)

    def get_cfn_attribute(self, attribute: str) -> str:
        told = {
            f"Outputs.{one['OutputKey']}": one["OutputValue"]
            for one in self._backend.get_stack(self.name).outputs or []
        }
        return str(told[attribute])

    @property
    def _backend(self) -> CloudFormationBackend:
        """moto's own: a call of the API would wait for the end of the outer stack's."""
        backend: CloudFormationBackend = cloudformation_backends[ACCOUNT][REGION]
        return backend

    def _template(self) -> Any:
        return get_stack_from_s3_url(
            self.properties["TemplateURL"], account_id=ACCOUNT, partition="aws"
        )

    def _expect(self, status: str) -> None:
        stack = self._backend.get_stack(self.name)
        if stack.status != status:
            reasons = [one.resource_status_reason for one in stack.events]
            because = next((one for one in reversed(reasons) if one), stack.status)
            raise NestedStackError(f"Embedded stack {stack.stack_id} failed: {because}")
