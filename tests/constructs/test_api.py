"""The HTTP API construct: who gets in, and how many."""

from typing import Any

import pytest
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_iam as iam

from lifoq.api.operations import OPERATIONS
from lifoq_cdk import QueueApi
from tests.constructs.application import resources, template_of

ROUTE = "AWS::ApiGatewayV2::Route"


def test_every_operation_has_a_route_that_asks_iam(stack, queue):
    QueueApi(stack, "Api", queue=queue)

    routes = resources(template_of(stack), ROUTE)
    assert {one["RouteKey"] for one in routes} == {f"{one.method} {one.path}" for one in OPERATIONS}
    assert {one["AuthorizationType"] for one in routes} == {"AWS_IAM"}


def test_another_authorizer_can_be_asked(stack, queue):
    QueueApi(stack, "Api", queue=queue, authorizer=apigateway.HttpNoneAuthorizer())

    routes = resources(template_of(stack), ROUTE)
    assert {one["AuthorizationType"] for one in routes} == {"NONE"}


def test_access_logs_have_names_that_need_no_entry_in_the_regions_resource_policy(stack, queue):
    for name in ("Api", "Partners"):
        QueueApi(stack, name, queue=queue)

    template = template_of(stack)
    named = [
        group
        for group in template["Resources"].values()
        if group["Type"] == "AWS::Logs::LogGroup" and "LogGroupName" in group["Properties"]
    ]
    names = {group["Properties"]["LogGroupName"] for group in named}
    assert len(names) == 2
    assert all(name.startswith("/aws/vendedlogs/") for name in names)
    # Kept, it would be in the way of an API that is switched on again.
    assert {group["DeletionPolicy"] for group in named} == {"Delete"}


@pytest.mark.parametrize(
    ("grant", "paths"),
    [
        (QueueApi.grant_put, {"POST/tasks", "POST/tasks/batch"}),
        (QueueApi.grant_read, {"GET/tasks/*", "GET/tasks", "GET/stats"}),
        (QueueApi.grant_operate, {"POST/tasks/*/cancel", "POST/tasks/*/redrive"}),
    ],
)
def test_a_grant_lets_in_to_what_its_name_says(stack, queue, grant, paths):
    api = QueueApi(stack, "Api", queue=queue)
    grant(api, iam.Role(stack, "Mine", assumed_by=iam.AccountRootPrincipal()))

    statements = [
        statement
        for policy in resources(template_of(stack), "AWS::IAM::Policy", "Mine")
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    assert {statement["Action"] for statement in statements} == {"execute-api:Invoke"}
    assert {path for statement in statements for path in allowed(statement["Resource"])} == paths


def allowed(resource: Any) -> list[str]:
    """Method and path of each ARN that a statement is about."""
    arns = resource if isinstance(resource, list) else [resource]
    ends = ["".join(part for part in arn["Fn::Join"][1] if isinstance(part, str)) for arn in arns]
    return [end.rpartition(":/*/")[2] for end in ends]
