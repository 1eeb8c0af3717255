"""Somebody looks at an article: its price is to be fresh."""

from typing import Any

from lifoq import Queue


def refresh(queue: Queue, sku: str, currency: str) -> None:
    queue.put(
        "price.refresh",
        {"sku": sku, "currency": currency},
        task_id=f"price-{sku}",
        if_exists="replace",
        key=sku,
    )


def handle(event: dict[str, Any], _context: Any) -> None:
    refresh(Queue.connect(), event["sku"], event["currency"])
