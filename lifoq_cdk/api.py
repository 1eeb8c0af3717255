"""A queue over HTTP: API Gateway, and the function behind it."""

import json
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_iam as iam
from constructs import Construct

from lifoq.api.operations import OPERATIONS, Kind
from lifoq.operating import deployment
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.functions import API
from lifoq_cdk.limits import VENDED_LOGS
from lifoq_cdk.queue import LifoQueue

LOGGED: Final = {
    "at": "$context.requestTime",
    "request": "$context.requestId",
    "caller": "$context.identity.userArn",
    "from": "$context.identity.sourceIp",
    "route": "$context.routeKey",
    "status": "$context.status",
    "milliseconds": "$context.responseLatency",
    "error": "$context.error.message",
}
"""The log of each request: who asked for what, and how it ended. No payload, no id."""


class QueueApi(Construct):
    """``ApiFunction``, and an HTTP API in front of it.

    Examples:
        >>> api = QueueApi(stack, "Api", queue=queue, requests_per_second=20)
        >>> grant = api.grant_put(caller)  # IAM lets in only whom a grant allows
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: LifoQueue,
        authorizer: apigateway.IHttpRouteAuthorizer | None = None,
        requests_per_second: float = 100,
        burst: int = 200,
    ) -> None:
        """``authorizer``: by default IAM's, so that only whom ``grant_put``, ``grant_read`` and
        ``grant_operate`` allow it gets in. ``requests_per_second``, ``burst``: of all callers
        together; what is more is answered with 429."""
        super().__init__(scope, construct_id)
        self._queue = queue
        self.function = QueueFunction(
            self, API, surroundings=queue.surroundings, dead_letters=queue.dead_letters
        )
        self.http_api = apigateway.HttpApi(
            self,
            "HttpApi",
            api_name=f"lifoq {queue.queue_name}",
            description=f"The lifoq queue {queue.queue_name}",
            create_default_stage=False,
            default_authorizer=authorizer or authorizers.HttpIamAuthorizer(),
        )
        self._add_routes()
        self._stage(requests_per_second, burst)
        self._watch()

    @property
    def url(self) -> str:
        """The address of the API, without a slash at its end."""
        return self.http_api.api_endpoint

    def grant_put(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` put tasks over HTTP."""
        return self._grant("put", grantee)

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` get and list tasks, and see the queue's numbers."""
        return self._grant("read", grantee)

    def grant_operate(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` cancel and redrive."""
        return self._grant("operate", grantee)

    def _grant(self, kind: Kind, grantee: iam.IGrantable) -> iam.Grant:
        """Grant operations by paths of our own: CDK's grant of ``POST /tasks/{id}/cancel`` is one
        of ``/tasks/*``, which puts tasks, too."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["execute-api:Invoke"],
            resource_arns=[
                self.http_api.arn_for_execute_api(
                    operation.method, operation.path.replace("{id}", "*")
                )
                for operation in OPERATIONS
                if operation.kind == kind
            ],
        )

    def _add_routes(self) -> None:
        integration = integrations.HttpLambdaIntegration("Function", self.function)
        for operation in OPERATIONS:
            self.http_api.add_routes(
                path=operation.path,
                methods=[apigateway.HttpMethod(operation.method)],
                integration=integration,
            )

    def _stage(self, requests_per_second: float, burst: int) -> None:
        surroundings = self._queue.surroundings
        own = cdk.Names.unique_resource_name(self, max_length=100, separator="-")
        self.access_logs = surroundings.log_group(
            self, "AccessLogs", f"{VENDED_LOGS}apis/lifoq/{surroundings.queue_name}/{own}"
        )
        stage = apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.http_api,
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(rate_limit=requests_per_second, burst_limit=burst),
        )
        resource = stage.node.default_child
        if isinstance(resource, apigateway.CfnStage):
            resource.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=self.access_logs.log_group_arn,
                format=json.dumps(LOGGED, separators=(",", ":")),
            )

    def _watch(self) -> None:
        board = self._queue.alarm_board(self)
        board.add_function_alarms([self.function])
        board.add_throttle_alarm([self.function])
        self._queue.show(deployment.API, self.function, alarms=board)
