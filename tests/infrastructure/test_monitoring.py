"""Who looks after the queue: each alarm has a threshold with a meaning, an address, and a page."""

import json
import re
from itertools import product
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from benchmarks.cost.bill import usd
from lifoq.errors import InvalidInput
from lifoq.metrics import Metric, Unit
from lifoq_cdk import LifoqDashboard
from lifoq_cdk.alarms import AlarmBoard
from lifoq_cdk.queries import OF_A_SWEEP, QUERIES
from tests.infrastructure.deployments import ROOT, Deployment, a_stage, new_app, synthesized

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
    everything, prod
):
    headings = re.findall(r"^## (.+)$", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE)
    for deployment, stack in product((everything, prod), ("queue", "generator", "analytics")):
        found = alarms(deployment, stack) | alarms(deployment, stack, COMPOSITE)
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
        stack = cdk.Stack(new_app(**{"lifoq:runbook": runbook}), "stack")
        return AlarmBoard(stack, "Alarms", topic=sns.Topic(stack, "Topic"), detailed=False)

    told = board("https://docs.example.com/runbook/")
    told.add_dead_letter_alarm(sqs.Queue(told, "Queue"))
    template = Template.from_stack(cdk.Stack.of(told))
    (alarm,) = template.find_resources("AWS::CloudWatch::Alarm").values()
    link = alarm["Properties"]["AlarmDescription"].rpartition(" ")[2]
    assert link == "https://docs.example.com/runbook/#dead-letters"
    with pytest.raises(InvalidInput, match="lifoq:runbook='our wiki': must be the address"):
        board("our wiki")


def read(alarms: dict[str, dict[str, Any]]) -> int:
    """By the metric is how CloudWatch bills alarms."""
    return sum(
        sum("MetricStat" in one for one in alarm.get("Metrics", [])) or 1
        for alarm in alarms.values()
    )


def standing(deployment: Deployment) -> float:
    """Dollars a month of a queue's stack, whether it is used or not."""
    return (
        usd("alarms", read(alarms(deployment, "queue")))
        + usd("composite alarms", len(alarms(deployment, "queue", COMPOSITE)))
        + usd("dashboard", len(deployment.resources("queue", "AWS::CloudWatch::Dashboard")))
    )


def test_an_idle_queue_costs_at_most_a_dollar_and_a_half_and_the_page_says_what_each_costs(prod):
    """The sweep of an idle queue sends no metric: see its own tests."""
    page = " ".join((ROOT / "docs" / "cost.md").read_text().split())
    month = json.loads((ROOT / "benchmarks" / "cost" / "results.json").read_text())["results"][
        "month"
    ]
    fixed = {"custom metrics", "alarms", "composite alarms", "dashboard"}
    work = sum(line["usd"] for line in month if line["what"] not in fixed)
    detailed = synthesized(a_stage(detailed_monitoring=True))
    # Long workers send the one; types with adaptive concurrency the other, one metric a type.
    of_all = {*Metric} - {Metric.TASKS_OPEN, Metric.CONCURRENCY_FOUND}
    by_sweep = {metric for metric in of_all if metric.gauge} | {*OF_A_SWEEP}

    idle = work + standing(prod)
    busy = usd("custom metrics", len(of_all))
    in_detail = work + standing(detailed) + usd("custom metrics", len(by_sweep))

    assert idle <= 1.50
    assert sum(line["usd"] for line in month) == pytest.approx(idle)
    assert f"| a queue in which nothing happens | **{idle:.2f}** |" in page
    for row, dollars in (
        ("the dashboard of all queues, if you deploy it, once", f"{usd('dashboard', 1):.2f}"),
        ("a month in which each of its metrics is sent all the time", f"+ {busy:.2f}"),
        ("a queue with detailed monitoring, in which nothing happens", f"{in_detail:.2f}"),
    ):
        assert f"| {row} | {dollars} |" in page
    assert f"{len(of_all)} metrics" in page
    assert f"{len(by_sweep)} metrics that the sweep sends" in page
    of_a_queue = read(alarms(prod, "queue"))
    assert (
        f"{of_a_queue} in the queue's stack, {read(alarms(prod, 'generator'))} in the generator's, "
        f"{read(alarms(prod, 'analytics'))} with reports"
    ) in page
    in_both = f"alarms that read {read(alarms(detailed, 'queue'))} metrics in place of {of_a_queue}"
    assert in_both in page


def test_there_is_one_alarm_for_each_reason_and_detailed_monitoring_adds_to_them(prod, everything):
    reasons = {
        *("DeadLetters", "FunctionErrors", "OldestWaiting", "BurnRateHour", "TaskFailures"),
        *("Stalled", "UnknownTypes", "SweepMissing", "RunawayLoop", "TableThrottled"),
    }
    found = alarms(prod, "queue")
    assert found.keys() == reasons
    first = ("DeadLetters", "FunctionErrors", "UnknownTypes", "TableThrottled")
    assert {found[name]["Threshold"] for name in first} == {0}, "they ring at the first"
    throttled = {one["Name"]: one["Value"] for one in found["TableThrottled"]["Dimensions"]}
    assert throttled["Operation"] == "UpdateItem", "as a claim and an outcome are"
    assert found["TableThrottled"]["Period"] == 60
    more = {"Throttles", "DroppedEvents", "IteratorAge", *PARTS, "EventsLate"}
    in_detail = {
        name for name in alarms(everything, "queue") if not re.match("Api|Ingest|Encoders", name)
    }
    assert in_detail == reasons - {"BurnRateHour"} | more
    assert not prod.resources("queue", "AWS::CloudWatch::Dashboard")


def test_an_alarm_on_a_metric_that_is_not_sent_while_it_is_0_takes_silence_for_0(prod, everything):
    """An alarm then rings neither because a queue falls idle nor because it was."""
    for deployment in (prod, everything):
        for name, alarm in alarms(deployment, "queue").items():
            own = '"Namespace": "lifoq"' in json.dumps(alarm)
            if own and name not in (
                "EncodersIdle",
                "EncodersWanted",
            ):  # their metric is always sent
                assert alarm["TreatMissingData"] == "notBreaching", name
                assert alarm["ComparisonOperator"].startswith("GreaterThan"), name


def test_each_function_of_a_queue_with_detailed_monitoring_sends_what_is_0(prod, everything):
    for deployment, told in ((prod, False), (everything, True)):
        for stack in ("queue", "generator"):
            for name, one in deployment.resources(stack, "AWS::Lambda::Function").items():
                variables = one["Properties"]["Environment"]["Variables"]
                assert ("LIFOQ_DETAILED_METRICS" in variables) is told, name


def test_one_dashboard_shows_a_line_for_each_queue_and_two_of_them_do_not_collide():
    stack = cdk.Stack(new_app(), "stack")
    for name in ("Queues", "Again"):
        LifoqDashboard(stack, name)
    resources = Template.from_stack(stack).find_resources("AWS::CloudWatch::Dashboard").values()
    for one in resources:
        assert one["Properties"].keys() == {"DashboardBody"}
        body = json.dumps(one).replace("\\", "")
        searched = re.findall(r"SEARCH\('{lifoq,service} MetricName=\"(\w+)\"', '(\w+)'\)", body)
        assert len(searched) == 12
        for name, statistic in searched:
            of_event = {Unit.COUNT: "Sum", Unit.SECONDS: "p95"}[Metric(name).unit]
            assert statistic == ("Maximum" if Metric(name).gauge else of_event), name
        places = re.findall(r'"width":(\d+),"height":\d+,"x":(\d+),"y":(\d+)', body)
        assert [(int(width), int(x)) for width, x, _ in places] == [(8, 0), (8, 8), (8, 16)] * 4
        assert body.count('"yAxis":{"left":{"min":0}}') == 12, "a difference would look larger"
        assert body.count('"period":60') == 12
        assert '"start":"-PT3H"' in body


def test_the_dashboards_top_row_answers_whether_fresh_work_is_done(everything):
    (dashboard,) = everything.resources("queue", "AWS::CloudWatch::Dashboard").values()
    _, parts = dashboard["Properties"]["DashboardBody"]["Fn::Join"]
    body = json.loads("".join(part if isinstance(part, str) else "token" for part in parts))
    charts = [widget for widget in body["widgets"] if widget["type"] == "metric"]
    headings = [one for one in body["widgets"] if "## " in one["properties"].get("markdown", "")]
    assert {heading["width"] for heading in headings} == {24}, "each fills its row"

    top = min(chart["y"] for chart in charts)

    def shown(charts: list[Any]) -> set[str]:
        every = [metric for chart in charts for metric in chart["properties"]["metrics"]]
        return {metric[1] for metric in every if len(metric) > 1}  # one is an expression

    ages = {"NewestWaitingAgeSeconds", "OldestWaitingAgeSeconds"}
    first = shown([chart for chart in charts if chart["y"] == top])
    assert {*ages, "TasksSucceeded", "TasksShed", "TasksPending", "WaitSeconds"} <= first
    assert {"TasksUnconfirmed", "TasksUnsettled"} <= shown(charts)
    axes = [chart["properties"].get("yAxis") for chart in charts]
    assert {axis["left"]["min"] for axis in axes if axis} == {0}, "a difference would look larger"


def test_logs_outlive_a_queue_unless_their_name_is_given_and_would_be_in_the_next_ones_way(prod):
    groups = [one for _, one in prod.all_resources() if one["Type"] == "AWS::Logs::LogGroup"]
    for group in groups:
        assert ("LogGroupName" in group["Properties"]) == (group["DeletionPolicy"] == "Delete")
    assert len({group["DeletionPolicy"] for group in groups}) == 2


def test_saved_queries_are_there_for_each_stage(prod):
    found = prod.resources("queue", "AWS::Logs::QueryDefinition").values()

    assert {one["Properties"]["Name"] for one in found} == {
        f"lifoq/prod/{name}" for name in QUERIES
    }
    for one in found:
        assert len(one["Properties"]["LogGroupNames"]) == 3
        _, _, name = one["Properties"]["Name"].split("/")
        assert one["Properties"]["QueryString"].split("\n| ") == [*QUERIES[name]]
    assert "sum(TasksClaimed), sum(TasksSucceeded), " in QUERIES["runs of the processor"][1]


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
