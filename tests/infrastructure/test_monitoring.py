"""Who looks after the queue: each alarm has a threshold with a meaning, an address, and a page."""

import json
import re
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from lifoq.errors import InvalidInput
from lifoq.metrics import Metric
from lifoq_cdk.alarms import AlarmBoard
from lifoq_cdk.queries import OF_A_SWEEP, QUERIES
from tests.infrastructure.deployments import ROOT, Deployment

COMPOSITE = "AWS::CloudWatch::CompositeAlarm"
PARTS = {f"BurnRate{pair}{window}" for pair in ("Fast", "Slow") for window in ("Long", "Short")}
"""Alarms that tell nobody: the alarm BurnRate rings by their states."""


def alarms(
    deployment: Deployment, stack: str, kind: str = "AWS::CloudWatch::Alarm"
) -> dict[str, dict[str, Any]]:
    """By name."""
    found = deployment.resources(stack, kind)
    return {
        re.sub(r"^Alarms|[0-9A-F]{8}$", "", logical_id): resource["Properties"]
        for logical_id, resource in found.items()
    }


def test_an_alarm_tells_its_beginning_and_its_end_and_leads_to_its_section_of_the_runbook(
    everything,
):
    headings = re.findall(r"^## (.+)$", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE)
    for stack in ("queue", "generator", "analytics"):
        found = alarms(everything, stack) | alarms(everything, stack, COMPOSITE)
        assert found
        for name, alarm in found.items():
            if name in PARTS:
                assert not {"AlarmActions", "OKActions"} & alarm.keys()
            elif name not in ("EncodersIdle", "EncodersWanted"):  # these scale
                for moment in ("AlarmActions", "OKActions"):
                    (action,) = alarm[moment]
                    assert "AlarmTopic" in action["Fn::ImportValue"], name
                section = re.search(
                    r" See docs/runbook\.md in lifoq's repository, section ([\w ]+)\.$",
                    alarm["AlarmDescription"],
                )
                assert section, name
                assert section[1] in headings, name


def test_that_no_sweep_comes_rings_where_there_have_been_sweeps(prod):
    """Else it rang in the first minutes of each new queue."""
    for name, alarm in alarms(prod, "queue").items():
        by_silence = name == "SweepMissing"
        assert (alarm["TreatMissingData"] == "missing") == by_silence, name
        told = alarm.get("InsufficientDataActions")
        assert told == (alarm["AlarmActions"] if by_silence else None), name


def test_an_alarm_leads_to_the_runbooks_own_address_where_that_is_given():
    def board(runbook: str) -> AlarmBoard:
        stack = cdk.Stack(cdk.App(context={"lifoq:runbook": runbook}), "stack")
        return AlarmBoard(stack, "Alarms", topic=sns.Topic(stack, "Topic"))

    told = board("https://docs.example.com/runbook/")
    told.add_dead_letter_alarm(sqs.Queue(told, "Queue"))
    template = Template.from_stack(cdk.Stack.of(told))
    (alarm,) = template.find_resources("AWS::CloudWatch::Alarm").values()
    link = alarm["Properties"]["AlarmDescription"].rpartition(" ")[2]
    assert link == "https://docs.example.com/runbook/#dead-letters"
    with pytest.raises(InvalidInput, match="lifoq:runbook='our wiki': must be the address"):
        board("our wiki")


def test_the_page_on_cost_counts_what_stands_there(prod):
    page = " ".join((ROOT / "docs" / "cost.md").read_text().split())

    def read(stack: str) -> int:
        """By the metric is how CloudWatch bills alarms."""
        return sum(
            sum("MetricStat" in one for one in alarm.get("Metrics", [])) or 1
            for alarm in alarms(prod, stack).values()
        )

    # Long workers send the one; types with adaptive concurrency the other, one metric a type.
    of_all = {*Metric} - {Metric.TASKS_OPEN, Metric.CONCURRENCY_FOUND}
    gauges = sum(metric.gauge for metric in of_all)
    by_sweep = gauges + len({Metric.SWEEPS, *OF_A_SWEEP})
    assert f"the metrics that the sweep sends ({by_sweep} at 0.30)" in page
    assert f"In a busy month {len(of_all)} metrics are sent" in page
    assert len(alarms(prod, "queue", COMPOSITE)) == 1
    assert "one composite alarm (0.50)" in page
    assert (
        f"{read('queue')} in the queue's stack, {read('generator')} in the generator's, "
        f"{read('analytics')} with reports"
    ) in page


def test_the_dashboards_top_row_answers_whether_fresh_work_is_done(prod):
    (dashboard,) = prod.resources("queue", "AWS::CloudWatch::Dashboard").values()
    _, parts = dashboard["Properties"]["DashboardBody"]["Fn::Join"]
    body = json.loads("".join(part if isinstance(part, str) else "token" for part in parts))
    charts = [widget for widget in body["widgets"] if widget["type"] == "metric"]

    top = min(chart["y"] for chart in charts)

    def shown(charts: list[Any]) -> set[str]:
        every = [metric for chart in charts for metric in chart["properties"]["metrics"]]
        return {metric[1] for metric in every if len(metric) > 1}  # one is an expression

    ages = {"NewestWaitingAgeSeconds", "OldestWaitingAgeSeconds"}
    first = shown([chart for chart in charts if chart["y"] == top])
    assert {*ages, "TasksSucceeded", "TasksShed", "TasksPending", "WaitSeconds"} <= first
    assert {"TasksUnconfirmed", "TasksUnsettled"} <= shown(charts)


def test_saved_queries_are_there_for_each_stage(prod):
    found = prod.resources("queue", "AWS::Logs::QueryDefinition").values()

    assert {one["Properties"]["Name"] for one in found} == {
        f"lifoq/prod/{name}" for name in QUERIES
    }
    for one in found:
        assert len(one["Properties"]["LogGroupNames"]) == 3


def test_what_is_added_to_a_queue_is_on_the_dashboard_and_before_queries_and_doctor(everything):
    dashboard = told(everything, "AWS::CloudWatch::Dashboard")
    parameter = told(everything, "AWS::SSM::Parameter", "Deployment")
    for function in ("ApiFunction", "IngestFunction", "TaskEventsFunction"):
        assert dashboard.count(function) >= 6
        for query in everything.resources("queue", "AWS::Logs::QueryDefinition").values():
            groups = map(json.dumps, query["Properties"]["LogGroupNames"])
            assert sum(f"{function}Logs" in group for group in groups) == 1
        assert function in parameter
    for part in (
        *("ApiAlarmsFunctionErrors", "IngestAlarmsDroppedEvents", "EncodersAlarmsLongTasksWaiting"),
        *("IngestFunctionSqsEventSource", "TaskEventsFunctionTableStream", "EncodersService"),
    ):
        assert part in parameter, part
    assert "TasksOpen" in dashboard


def told(deployment: Deployment, type_name: str, prefix: str = "") -> str:
    """All that a resource says, as text."""
    return json.dumps(deployment.resource("queue", type_name, prefix))
