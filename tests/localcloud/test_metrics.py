"""Lines of output: as metrics (CloudWatch's embedded metric format), and in a log group."""

import json
from datetime import datetime
from types import SimpleNamespace

from moto.logs.models import LogGroup

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.functions import metrics
from lifoq_localcloud.moto_adapter import log_group


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


def test_a_log_group_keeps_the_latest_of_what_a_function_writes(monkeypatch):
    monkeypatch.setattr(log_group, "MOST", 2)
    group = LogGroup(ACCOUNT, REGION, "written")
    backend = SimpleNamespace(groups={"written": group})
    monkeypatch.setattr(log_group, "logs_backends", {ACCOUNT: {REGION: backend}})
    log_group.append("nobodys", b"lost", at=1.0)
    kept = []
    for output in (b"a\n\nb\n", b"c\xff\nd", b" \ne"):
        log_group.append("written", output, at=1.5)
        events = group.streams[log_group.STREAM].events
        kept.append([(one.message, one.timestamp) for one in events])
    (a, b), four, (d, e) = kept
    assert [a, b, *four[2:]] == [("a", 1500), ("b", 1500), ("c\ufffd", 1500), ("d", 1500)]
    assert (four[:2], d, e) == ([a, b], four[3], ("e", 1500))
