"""A bucket, and a queue that makes thumbnails of what is uploaded to it."""

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_notifications as notifications

from lifoq_cdk import LifoQueue, TaskCode, with_lifoq

app = cdk.App()
stack = cdk.Stack(app, "thumbnails")

bucket = s3.Bucket(stack, "Pictures", enforce_ssl=True)
queue = LifoQueue(
    stack,
    "Queue",
    queue_name="thumbnails",
    tasks=TaskCode("tasks", memory_size=1769),  # one processor
    deadline=cdk.Duration.minutes(30),
    in_flight=4,
)
bucket.grant_read_write(queue.processor)

uploads = lambda_.Function(
    stack,
    "Uploads",
    runtime=lambda_.Runtime.PYTHON_3_14,
    architecture=lambda_.Architecture.ARM_64,
    code=with_lifoq("uploads"),
    handler="uploads.handler.handle",
    timeout=cdk.Duration.seconds(30),
)
queue.grant_put(uploads)
bucket.add_event_notification(
    s3.EventType.OBJECT_CREATED,
    notifications.LambdaDestination(uploads),
    s3.NotificationKeyFilter(prefix="uploads/"),
)
cdk.CfnOutput(stack, "Bucket", value=bucket.bucket_name)
cdk.CfnOutput(stack, "UploadsName", value=uploads.function_name)

app.synth()
