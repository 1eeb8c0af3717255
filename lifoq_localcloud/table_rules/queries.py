"""Queries and scans: parameters that do not fit together."""

from typing import Any

from lifoq_localcloud.table_rules.refused import RefusedError


def check(operation: str, request: dict[str, Any]) -> None:
    """Raise RefusedError for a query or a scan that cannot be meant."""
    if operation not in {"Query", "Scan"}:
        return
    _check_select(request)
    if operation == "Scan":
        _check_segments(request)
    elif request.get("KeyConditionExpression") is None:
        raise RefusedError(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the "
            "request."
        )


def _check_select(request: dict[str, Any]) -> None:
    select, projection = request.get("Select"), request.get("ProjectionExpression")
    if select == "SPECIFIC_ATTRIBUTES" and projection is None:
        raise RefusedError(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get "
            "SPECIFIC_ATTRIBUTES"
        )
    if select not in {None, "SPECIFIC_ATTRIBUTES"} and projection is not None:
        told = "only the Count" if select == "COUNT" else select
        raise RefusedError(f"Cannot specify the ProjectionExpression when choosing to get {told}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.get("IndexName") is None:
        raise RefusedError(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )


def _check_segments(request: dict[str, Any]) -> None:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is None and total is not None:
        raise RefusedError(
            "The Segment parameter is required but was not present in the request when parameter "
            "TotalSegments is present"
        )
    if segment is not None and total is None:
        raise RefusedError(
            "The TotalSegments parameter is required but was not present in the request when "
            "Segment parameter is present"
        )
    if segment is not None and total is not None and segment >= total:
        raise RefusedError(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )
