"""Tell how tasks ended to those who asked for it: a topic, and Step Functions."""

from dataclasses import dataclass

from lifoq.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class TaskEvents:
    """The events of each task's end: SUCCESS, FAILURE, CANCELLED, or SHED.

    Examples:
        >>> queue = LifoQueue(stack, "Prices", tasks="thumbnails", events=TaskEvents())
        >>> mail = subscriptions.EmailSubscription("ada@example.com")
        >>> subscription = queue.events_topic.add_subscription(mail)
    """

    topic: bool = True
    """True if all ends are published to ``TaskEventsTopic``."""
    step_functions: bool = False
    """True if tasks with a ``task_token`` are answered to Step Functions."""
    shed_at_deadline: bool = True
    """True if the topic is told of a shed task within one sweep of its deadline, which costs two
    more index writes for each task. False: it is told when DynamoDB's TTL deletes the task, perhaps
    days later. A task with a token is always answered at its deadline."""

    def __post_init__(self) -> None:
        if not (self.topic or self.step_functions):
            raise InvalidInput(
                "events", self, "tell nobody: set topic or step_functions, or leave events out"
            )

    @property
    def all_shed_at_deadline(self) -> bool:
        return self.topic and self.shed_at_deadline
