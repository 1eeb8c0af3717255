"""The steps of an order. Each may run twice: the order's number makes them harmless."""

from typing import Any

from lifoq import Context, Fail, task


@task("stock.reserve")
def reserve(order: Any, _context: Context) -> Any:
    return {"reserved": order["article"]}


@task("card.charge")
def charge(order: Any, _context: Context) -> Any:
    if order.get("card") == "expired":
        raise Fail("the card has expired")
    return {"charged": order["cents"]}


@task("order.ship")
def ship(order: Any, _context: Context) -> Any:
    return {"shipped": order["number"]}


@task("order.undo")
def undo(_order: Any, _context: Context) -> Any:
    return "undone"  # whatever there is: it may be called for what was never reserved or charged
