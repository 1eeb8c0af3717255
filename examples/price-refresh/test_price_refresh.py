"""The producer and the task code, in memory."""

from producer.handler import refresh

import tasks


def test_of_three_wishes_for_an_article_the_last_is_asked_for_once(
    lifoq_queue, lifoq_run, monkeypatch
):
    asked = []

    def ask(sku, currency, timeout):
        asked.append((sku, currency))
        return "12.50"

    monkeypatch.setattr(tasks, "ask", ask)
    for currency in ("EUR", "USD", "JPY"):
        refresh(lifoq_queue, "7", currency)

    assert lifoq_run().succeeded == 1

    assert asked == [("7", "JPY")]
    assert lifoq_queue.wait("price-7", timeout=1)["price"] == "12.50"
