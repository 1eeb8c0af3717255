"""A queue of price refreshes, and a queue of SQS that gets the new prices."""

import os

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs

from lifoq_cdk import LifoQueue, TaskCode, TaskEvents, with_lifoq

SHOP = os.environ.get("SHOP_URL", "https://shop.example.com/prices")

app = cdk.App()
stack = cdk.Stack(app, "prices")

queue = LifoQueue(
    stack,
    "Queue",
    queue_name="prices",
    tasks=TaskCode("tasks", environment={"SHOP_URL": SHOP}),
    deadline=cdk.Duration.minutes(5),
    events=TaskEvents(),
)

producer = lambda_.Function(
    stack,
    "Producer",
    runtime=lambda_.Runtime.PYTHON_3_14,
    architecture=lambda_.Architecture.ARM_64,
    code=with_lifoq("producer"),
    handler="producer.handler.handle",
    timeout=cdk.Duration.seconds(30),
)
queue.grant_replace(producer)

prices = sqs.Queue(stack, "Prices", enforce_ssl=True)
queue.events_topic.add_subscription(
    subscriptions.SqsSubscription(
        prices,
        raw_message_delivery=True,
        filter_policy={
            "taskType": sns.SubscriptionFilter.string_filter(allowlist=["price.refresh"]),
            "status": sns.SubscriptionFilter.string_filter(allowlist=["SUCCESS"]),
        },
    )
)
cdk.CfnOutput(stack, "ProducerName", value=producer.function_name)
cdk.CfnOutput(stack, "PricesUrl", value=prices.queue_url)

app.synth()
