"""Names that CloudFormation makes of a stack's and a resource's: as long as their service takes
them. moto's have any length."""

from typing import Final

from moto.cloudformation import parsing

from lifoq_localcloud.moto_adapter.patch import replace

LONGEST: Final = {
    "AWS::Events::Rule": 64,
    "AWS::IAM::Role": 64,
    "AWS::Lambda::Function": 64,
    "AWS::Scheduler::Schedule": 64,
    "AWS::Scheduler::ScheduleGroup": 64,
    "AWS::SQS::Queue": 80,
    "AWS::StepFunctions::StateMachine": 80,
}
"""Characters of a name, by the type of its resource."""


def install() -> None:
    """From now on, a name that is too long loses the end of what comes before its random part."""
    original = parsing.generate_resource_name

    def generate_resource_name(resource_type: str, stack_name: str, logical_id: str) -> str:
        name = original(resource_type, stack_name, logical_id)
        longest = LONGEST.get(resource_type, len(name))
        if len(name) <= longest:
            return name
        told, _, random = name.rpartition("-")
        return f"{told[: longest - len(random) - 1].rstrip('-')}-{random}"

    replace(parsing, "generate_resource_name", generate_resource_name)
