"""Metrics have a name, a unit, and a meaning."""

from lifoq.metrics import Metric, Unit


def test_names_and_units_agree():
    """CloudWatch keeps the unit apart from the name; who reads a name alone must not be misled."""
    for metric in Metric:
        assert metric.value.endswith("Seconds") == (metric.unit is Unit.SECONDS), metric
        assert metric.meaning
