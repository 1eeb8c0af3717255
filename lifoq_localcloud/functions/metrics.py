"""Metrics in the Embedded Metric Format, taken from the functions' output.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

Datum = dict[str, Any]
"""An entry of ``PutMetricData``."""


def data(line: bytes) -> Iterator[tuple[str, Datum]]:
    """The metrics in a line of output, each with its namespace; none in an ordinary line."""
    if b'"_aws"' not in line or not line.startswith(b"{"):
        return
    try:
        document = json.loads(line)
    except ValueError:
        return
    metadata = document["_aws"]
    # moto compares moments that name no zone, and mean UTC.
    moment = datetime.fromtimestamp(metadata["Timestamp"] / 1000, UTC).replace(tzinfo=None)
    for directive in metadata["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = [{"Name": name, "Value": str(document[name])} for name in names]
            for metric in directive["Metrics"]:
                value = document[metric["Name"]]
                yield (
                    directive["Namespace"],
                    {
                        "MetricName": metric["Name"],
                        "Dimensions": dimensions,
                        "Timestamp": moment,
                        "Values": value if isinstance(value, list) else [value],
                        "Unit": metric.get("Unit", "None"),
                    },
                )
