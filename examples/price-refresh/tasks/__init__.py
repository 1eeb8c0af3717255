"""Asks the shop for the price of an article."""

import json
import os
import urllib.error
import urllib.request
from typing import Any

from lifoq import Busy, Context, Fail, task


@task("price.refresh", max_attempts=3, timeout=10, per_key=1)
def refresh(payload: Any, context: Context) -> Any:
    try:
        price = ask(payload["sku"], payload["currency"], timeout=context.remaining)
    except urllib.error.HTTPError as error:
        if error.code in {429, 503}:
            raise Busy("the shop is full", after=2) from error
        if error.code == 404:
            raise Fail("the shop has no such article") from error
        raise
    return {"sku": payload["sku"], "currency": payload["currency"], "price": price}


def ask(sku: str, currency: str, *, timeout: float) -> str:
    url = f"{os.environ['SHOP_URL']}/{sku}?currency={currency}"
    with urllib.request.urlopen(url, timeout=timeout) as answer:  # noqa: S310 - it is configured
        return str(json.load(answer)["price"])
