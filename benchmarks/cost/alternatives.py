"""What others cost for the same load: computed from documented request counts, not measured."""

from typing import Final

from benchmarks.cost import bill
from benchmarks.cost.transitions import Row

BATCH: Final = 10
"""Messages that one SQS request carries
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-batch-api-actions.html)."""
IDLE_POLLS_PER_MINUTE: Final = 15
"""Of Lambda on an empty queue: five long polls of 20 s side by side
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html)."""
SAMPLE_UNITS: Final = {"succeeds at once": 8, "its downstream is saturated": 22}
"""Write units per task of the AWS sample with the same pattern, counted on its code."""


def rows(*, memory_megabytes: int, service_seconds: float) -> list[Row]:
    """Per million tasks of at most 64 KB, handlers of one run working side by side."""
    together = {
        "SQS requests": 3 * bill.MILLION / BATCH,  # sent, received, deleted
        "function runs": bill.MILLION / BATCH,
        "function time": bill.MILLION / BATCH * service_seconds * memory_megabytes / 1024,
    }
    alone = {
        "SQS requests": 3 * bill.MILLION,
        "function runs": 1.0 * bill.MILLION,
        "function time": bill.MILLION * service_seconds * memory_megabytes / 1024,
    }
    return [
        _row("SQS and Lambda", f"batches of {BATCH}", together),
        _row("SQS and Lambda", "one at a time", alone),
        *(
            _row("the AWS sample, writes alone", load, {"write units": units * bill.MILLION})
            for load, units in SAMPLE_UNITS.items()
        ),
    ]


def idle_month() -> float:
    """Dollars that SQS with Lambda costs in a month without a message."""
    polls = IDLE_POLLS_PER_MINUTE * bill.MONTH_SECONDS / 60
    return bill.usd("SQS requests", polls)


def _row(who: str, load: str, quantities: dict[str, float]) -> Row:
    return {
        "who": who,
        "load": load,
        "usd_per_million": sum(line["usd"] for line in bill.lines(quantities)),
    }
