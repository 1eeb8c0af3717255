"""Queues: who may send to them."""

import json

from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Resource, client


class QueuePolicy(Resource, CloudFormationModel):
    TYPE = "AWS::SQS::QueuePolicy"

    def create(self) -> None:
        for queue in self.properties["Queues"]:
            client("sqs").set_queue_attributes(
                QueueUrl=queue, Attributes={"Policy": json.dumps(self.properties["PolicyDocument"])}
            )
