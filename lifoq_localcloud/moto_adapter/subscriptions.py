"""Subscriptions of functions to topics: a message goes to the function, in the background."""

import json
from collections.abc import Callable
from typing import Any

from moto.sns.models import Subscription

from lifoq_localcloud.events.sources import Notification
from lifoq_localcloud.moto_adapter.patch import replace


def install(deliver: Callable[[Notification], None]) -> None:
    """From now on, what is published reaches functions by ``deliver``."""
    original_publish = Subscription.publish

    def publish(
        subscription: Subscription,
        message: str,
        message_id: str,
        subject: str | None = None,
        message_attributes: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if subscription.protocol != "lambda":
            original_publish(
                subscription,
                message,
                message_id,
                subject=subject,
                message_attributes=message_attributes,
                **options,
            )
            return
        matcher = subscription._filter_policy_matcher  # noqa: SLF001 - no public way
        if matcher is not None and not matcher.matches(message_attributes, message):
            return
        redrive = json.loads(subscription.attributes.get("RedrivePolicy") or "{}")
        deliver(
            Notification(
                function_arn=subscription.endpoint,
                subscription_arn=subscription.arn,
                redrive_target=redrive.get("deadLetterTargetArn"),
                topic_arn=subscription.topic.arn,
                message_id=message_id,
                message=message,
                subject=subject,
                attributes=message_attributes or {},
            )
        )

    replace(Subscription, "publish", publish)
