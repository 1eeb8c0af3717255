"""Topics, their subscriptions and policies."""

import json
from collections.abc import Iterable
from typing import Final

from moto.core.common_models import CloudFormationModel
from moto.sns.models import Topic, sns_backends

from lifoq_localcloud.deployments.resources.changes import between, text
from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client


class Subscription(Resource, CloudFormationModel):
    TYPE = "AWS::SNS::Subscription"
    CHANGES = frozenset(
        {
            *("DeliveryPolicy", "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery"),
            *("RedrivePolicy", "SubscriptionRoleArn"),
        }
    )

    def create(self) -> None:
        answer = client("sns").subscribe(
            TopicArn=self.properties["TopicArn"],
            Protocol=self.properties["Protocol"],
            Endpoint=self.properties["Endpoint"],
            Attributes=self._attributes(self.CHANGES & self.properties.keys()),
            ReturnSubscriptionArn=True,
        )
        self.name = answer["SubscriptionArn"]

    def update(self, before: Properties) -> None:
        changed = set(between(before, self.properties) & self.CHANGES)
        if "FilterPolicyScope" in changed:
            changed.add("FilterPolicy")  # which is read by its scope
        for name, value in self._attributes(changed).items():
            client("sns").set_subscription_attributes(
                SubscriptionArn=self.name, AttributeName=name, AttributeValue=value
            )

    def _attributes(self, names: Iterable[str]) -> dict[str, str]:
        """Return the attributes of these names, the scope of filters before the filters."""
        defaults = {"FilterPolicyScope": "MessageAttributes", "RawMessageDelivery": False}
        given = {**defaults, **self.properties}
        ordered = sorted(names, key=lambda name: name != "FilterPolicyScope")
        return {name: text(given.get(name, "")) for name in ordered}

    def remove(self) -> None:
        client("sns").unsubscribe(SubscriptionArn=self.name)


class TopicPolicy(Resource, CloudFormationModel):
    TYPE = "AWS::SNS::TopicPolicy"
    CHANGES = frozenset({"PolicyDocument", "Topics"})

    def create(self) -> None:
        for topic in self.properties["Topics"]:
            _set_policy(topic, self.properties["PolicyDocument"])

    def update(self, before: Properties) -> None:
        self._take_away([arn for arn in before["Topics"] if arn not in self.properties["Topics"]])
        self.create()

    def remove(self) -> None:
        self._take_away(self.properties["Topics"])

    @staticmethod
    def _take_away(topics: Iterable[str]) -> None:
        """Give the topics their first policy again, as CloudFormation does; a topic that is gone
        has none."""
        for arn in topics:
            _, _, _, region, account, name = arn.split(":")
            topic = sns_backends[account][region].topics.get(arn)
            if topic is not None:
                _set_policy(arn, topic._create_default_topic_policy(region, account, name))  # noqa: SLF001


def _set_policy(topic: str, policy: Properties) -> None:
    client("sns").set_topic_attributes(
        TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(policy)
    )


_DEFAULTS: Final = {
    "ContentBasedDeduplication": False,
    "DisplayName": "",
    "KmsMasterKeyId": "",
    "SignatureVersion": "1",
    "TracingConfig": "PassThrough",
}
"""A topic's attributes where its template does not name them."""


class DeployedTopic(Topic, CloudFormationModel):
    """moto's topic. For each change moto would make another one, with another ARN."""

    CHANGES = frozenset(_DEFAULTS)

    @classmethod
    def change(cls, resource: Topic, properties: Properties, before: Properties) -> None:
        for name in between(before, properties) & cls.CHANGES:
            client("sns").set_topic_attributes(
                TopicArn=resource.arn,
                AttributeName=name,
                AttributeValue=text(properties.get(name, _DEFAULTS[name])),
            )
