"""Queues: their settings, and who may send to them."""

import json
from typing import Final

from moto.core.common_models import CloudFormationModel
from moto.sqs.models import Queue

from lifoq_localcloud.deployments.resources.changes import between, text
from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client

_DEFAULTS: Final = {
    "ContentBasedDeduplication": False,
    "DeduplicationScope": "queue",
    "DelaySeconds": 0,
    "FifoThroughputLimit": "perQueue",
    "KmsDataKeyReusePeriodSeconds": 300,
    "KmsMasterKeyId": "",
    "MaximumMessageSize": 1048576,
    "MessageRetentionPeriod": 345600,
    "ReceiveMessageWaitTimeSeconds": 0,
    "RedriveAllowPolicy": "",
    "RedrivePolicy": "",
    "SqsManagedSseEnabled": True,
    "VisibilityTimeout": 30,
}
"""A queue's attributes where its template does not name them."""


class DeployedQueue(Queue, CloudFormationModel):
    """moto's queue, of which it changes two attributes only."""

    CHANGES = frozenset(_DEFAULTS)

    @classmethod
    def change(cls, resource: Queue, properties: Properties, before: Properties) -> None:
        wanted = {**_DEFAULTS, **properties}
        changed = between(before, properties) & cls.CHANGES
        attributes = {name: text(wanted[name]) for name in changed}
        if resource.policy:
            attributes["Policy"] = resource.policy  # moto drops it from whatever is set without it
        client("sqs").set_queue_attributes(
            QueueUrl=resource.physical_resource_id, Attributes=attributes
        )


class QueuePolicy(Resource, CloudFormationModel):
    TYPE = "AWS::SQS::QueuePolicy"
    CHANGES = frozenset({"PolicyDocument", "Queues"})

    def create(self) -> None:
        self._set(self.properties["Queues"], json.dumps(self.properties["PolicyDocument"]))

    def update(self, before: Properties) -> None:
        self._set([url for url in before["Queues"] if url not in self.properties["Queues"]], "")
        self.create()

    def remove(self) -> None:
        self._set(self.properties["Queues"], "")

    @staticmethod
    def _set(queues: list[str], policy: str) -> None:
        for url in queues:
            client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
