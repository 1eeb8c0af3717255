"""Puts into moto what reaches a queue, a topic, a bucket or a metric without a call of the API, and
deletes schedules that are over."""

from typing import Any

from moto.cloudwatch.models import cloudwatch_backends
from moto.s3.models import s3_backends
from moto.scheduler.models import scheduler_backends
from moto.sns.models import sns_backends
from moto.sqs.models import sqs_backends

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.events.sources import ScheduleConfig


def send(arn: str, body: str) -> bool:
    """Put a message into a queue or topic. Whether there is such a thing."""
    service, name = arn.split(":")[2], arn.rsplit(":", maxsplit=1)[-1]
    if service == "sqs":
        queues = sqs_backends[ACCOUNT][REGION]
        if name not in queues.queues:
            return False
        queues.send_message(name, body)
        return True
    if service == "sns":
        topics = sns_backends[ACCOUNT][REGION]
        if arn not in topics.topics:
            return False
        topics.publish(body, arn)
        return True
    return False


def put_object(bucket: str, key: str, body: bytes) -> None:
    s3_backends[ACCOUNT]["aws"].put_object(bucket, key, body)


def bucket_exists(bucket: str) -> bool:
    return bucket in s3_backends[ACCOUNT]["aws"].buckets


def put_metrics(namespace: str, data: list[dict[str, Any]]) -> None:
    cloudwatch_backends[ACCOUNT][REGION].put_metric_data(namespace, data)


def delete_schedule(schedule: ScheduleConfig) -> None:
    scheduler_backends[ACCOUNT][REGION].delete_schedule(schedule.group, schedule.name)
