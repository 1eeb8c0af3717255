"""HTTP APIs of API Gateway: integrations, routes and stages."""

from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client


class HttpApi(Resource, CloudFormationModel):
    TYPE = "AWS::ApiGatewayV2::Api"
    CHANGES = frozenset({"Description", "Name"})

    def create(self) -> None:
        names = ("Description", "Name", "ProtocolType")
        answer = client("apigatewayv2").create_api(**given(self, *names))
        self.name = answer["ApiId"]

    def update(self, before: Properties) -> None:  # noqa: ARG002 - as for all types
        client("apigatewayv2").update_api(
            ApiId=self.name,
            Name=self.properties["Name"],
            Description=self.properties.get("Description", ""),
        )

    def remove(self) -> None:
        client("apigatewayv2").delete_api(ApiId=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        """The id, or the address where it answers here. On AWS, it has a host of its own."""
        if attribute == "ApiId":
            return self.name
        return f"{client('apigatewayv2').meta.endpoint_url}/_http/{self.name}"


class HttpIntegration(Resource, CloudFormationModel):
    TYPE = "AWS::ApiGatewayV2::Integration"
    CHANGES = frozenset({"IntegrationUri", "PayloadFormatVersion"})

    def create(self) -> None:
        names = ("ApiId", "IntegrationType", "IntegrationUri", "PayloadFormatVersion")
        answer = client("apigatewayv2").create_integration(
            **given(self, *names), IntegrationMethod="POST"
        )
        self.name = answer["IntegrationId"]

    def update(self, before: Properties) -> None:  # noqa: ARG002 - as for all types
        names = ("ApiId", "IntegrationUri", "PayloadFormatVersion")
        client("apigatewayv2").update_integration(IntegrationId=self.name, **given(self, *names))

    def remove(self) -> None:
        client("apigatewayv2").delete_integration(**given(self, "ApiId"), IntegrationId=self.name)


class HttpRoute(Resource, CloudFormationModel):
    TYPE = "AWS::ApiGatewayV2::Route"
    CHANGES = frozenset({"AuthorizationType", "RouteKey", "Target"})

    def create(self) -> None:
        names = ("ApiId", "RouteKey", "Target", "AuthorizationType")
        self.name = client("apigatewayv2").create_route(**given(self, *names))["RouteId"]

    def update(self, before: Properties) -> None:  # noqa: ARG002 - as for all types
        names = ("ApiId", "RouteKey", "Target")
        client("apigatewayv2").update_route(
            RouteId=self.name,
            **given(self, *names),
            AuthorizationType=self.properties.get("AuthorizationType", "NONE"),
        )

    def remove(self) -> None:
        client("apigatewayv2").delete_route(**given(self, "ApiId"), RouteId=self.name)


class HttpStage(Resource, CloudFormationModel):
    TYPE = "AWS::ApiGatewayV2::Stage"

    def create(self) -> None:
        client("apigatewayv2").create_stage(**given(self, "ApiId", "StageName"))
        self.name = self.properties["StageName"]

    def remove(self) -> None:
        client("apigatewayv2").delete_stage(**given(self, "ApiId", "StageName"))


def given(resource: Resource, *names: str) -> Properties:
    return {name: resource.properties[name] for name in names if name in resource.properties}
