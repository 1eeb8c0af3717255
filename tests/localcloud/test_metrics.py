"""Lines of output that are metrics (CloudWatch's embedded metric format)."""

import json
from datetime import datetime

from lifoq_localcloud.functions import metrics


def test_a_line_of_metrics_is_a_datum_for_each_value_and_set_of_dimensions():
    described = {
        "Namespace": "lifoq",
        "Dimensions": [["Queue"], ["Queue", "Type"]],
        "Metrics": [{"Name": "Done", "Unit": "Count"}, {"Name": "Waits"}],
    }
    line = {
        "_aws": {"Timestamp": 1_700_000_000_000, "CloudWatchMetrics": [described]},
        "Queue": "q",
        "Type": 7,
        "Done": 1,
        "Waits": [2, 3],
    }
    queue, task_type = ({"Name": "Queue", "Value": "q"}, {"Name": "Type", "Value": "7"})
    moment = datetime(2023, 11, 14, 22, 13, 20)  # noqa: DTZ001 - as moto compares it
    assert list(metrics.data(json.dumps(line).encode())) == [
        ("lifoq", {"Dimensions": dimensions, "Timestamp": moment, **of_metric})
        for dimensions in ([queue], [queue, task_type])
        for of_metric in (
            {"MetricName": "Done", "Values": [1], "Unit": "Count"},
            {"MetricName": "Waits", "Values": [2, 3], "Unit": "None"},
        )
    ]


def test_any_other_line_is_none():
    for line in (b"", b"words", b'{"_aws"', b'{"aws": 1}', b'0 {"_aws": {}}'):
        assert list(metrics.data(line)) == []
