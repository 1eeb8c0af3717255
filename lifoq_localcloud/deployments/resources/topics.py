"""Topics, their subscriptions and policies."""

import json
from typing import Any

from moto.core.common_models import CloudFormationModel
from moto.sns.models import Topic

from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client


class Subscription(Resource, CloudFormationModel):
    TYPE = "AWS::SNS::Subscription"

    def create(self) -> None:
        attributes = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in self.properties.items()
            if name not in {"TopicArn", "Protocol", "Endpoint", "Region"}
        }
        # Filters of the message's body need their scope first.
        ordered = sorted(attributes.items(), key=lambda item: item[0] != "FilterPolicyScope")
        answer = client("sns").subscribe(
            TopicArn=self.properties["TopicArn"],
            Protocol=self.properties["Protocol"],
            Endpoint=self.properties["Endpoint"],
            Attributes=dict(ordered),
            ReturnSubscriptionArn=True,
        )
        self.name = answer["SubscriptionArn"]

    def update(self) -> None:
        self.remove()
        self.create()

    def remove(self) -> None:
        client("sns").unsubscribe(SubscriptionArn=self.name)


class TopicPolicy(Resource, CloudFormationModel):
    TYPE = "AWS::SNS::TopicPolicy"

    def create(self) -> None:
        for topic in self.properties["Topics"]:
            client("sns").set_topic_attributes(
                TopicArn=topic,
                AttributeName="Policy",
                AttributeValue=json.dumps(self.properties["PolicyDocument"]),
            )


class DeployedTopic(Topic, CloudFormationModel):
    """moto's topic; a change does not make another one of it, with another ARN."""

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Topic,
        new_resource_name: str,  # noqa: ARG003 - moto's signature
        cloudformation_json: Properties,
        *_place: Any,
        **_more: Any,
    ) -> Topic:
        key = cloudformation_json["Properties"].get("KmsMasterKeyId", "")
        client("sns").set_topic_attributes(
            TopicArn=original_resource.arn, AttributeName="KmsMasterKeyId", AttributeValue=key
        )
        return original_resource
