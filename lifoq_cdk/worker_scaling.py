"""Set the number of long workers: as many as the open tasks need.

Once a minute CloudWatch computes the number that is wanted, and an alarm hands it to a step policy
that sets it, as long as it rings
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-actions.html). The rule has no
memory but the window that it looks back over: the most that was wanted in it counts. There is no
division by the workers that run, so it also works from none.
"""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from lifoq.metrics import Metric
from lifoq_cdk.metrics import QueueMetrics
from lifoq_cdk.workers import WorkerScaling

SHORTEST_LOOK_BACK: Final = 5
"""Minutes: a worker takes one or two to start."""
SWEEPS_IN_A_LOOK_BACK: Final = 3


def look_back_minutes(sweep_minutes: int) -> int:
    """Return the minutes that the rule looks back over: some sweeps, each of which counts what is
    open."""
    return max(SHORTEST_LOOK_BACK, SWEEPS_IN_A_LOOK_BACK * sweep_minutes)


def scale(
    scope: Construct,
    service: ecs.FargateService,
    scaling: WorkerScaling,
    *,
    workers: str,
    metrics: QueueMetrics,
    deadline_seconds: float,
    sweep_minutes: int,
) -> None:
    """Have ``service`` follow the tasks that are open for the group ``workers``."""
    target = service.auto_scale_task_count(
        min_capacity=scaling.min_workers, max_capacity=scaling.max_workers
    )
    look_back = cdk.Duration.minutes(look_back_minutes(sweep_minutes))
    open_ = metrics.of_workers(workers, Metric.TASKS_OPEN).with_(period=look_back)
    oldest = metrics.of_workers(workers, Metric.OLDEST_WAITING_AGE).with_(period=look_back)
    wait = scaling.longest_wait or cdk.Duration.seconds(round(deadline_seconds / 4))
    given = scaling.backlog_per_worker or scaling.in_flight
    wanted = cloudwatch.MathExpression(
        expression=f"CEIL(IF(oldest > {wait.to_seconds():g}, "
        f"open / {scaling.in_flight}, open / {given}))",
        using_metrics={"open": open_, "oldest": oldest},
        label="workers wanted",
        period=look_back,
    )
    some, none = _policy(scope, "Some", target), _policy(scope, "None", target)
    steps = list(scaling.steps())
    for (wanted_from, size), (until, _) in zip(steps, [*steps[1:], (None, None)], strict=True):
        # Bounds count from the alarm's threshold, which is 1.
        upper = None if until is None else until - 1
        some.add_adjustment(adjustment=size, lower_bound=wanted_from - 1, upper_bound=upper)
    none.add_adjustment(adjustment=0, upper_bound=0)
    _alarm(
        scope,
        "Wanted",
        some,
        metric=wanted,
        comparison=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        meaning="In ALARM while workers are wanted",
    )
    _alarm(
        scope,
        "Idle",
        none,
        metric=open_,
        comparison=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        meaning="In ALARM while there is nothing to do",
    )


def _policy(
    scope: Construct, construct_id: str, target: ecs.ScalableTaskCount
) -> autoscaling.StepScalingAction:
    resource = target.node.find_child("Target")
    if not isinstance(resource, autoscaling.ScalableTarget):
        raise TypeError(resource)
    return autoscaling.StepScalingAction(
        scope,
        construct_id,
        scaling_target=resource,
        adjustment_type=autoscaling.AdjustmentType.EXACT_CAPACITY,
        # The window of the metrics is what keeps it from going up and down.
        cooldown=cdk.Duration.seconds(0),
        metric_aggregation_type=autoscaling.MetricAggregationType.MAXIMUM,
    )


def _alarm(
    scope: Construct,
    construct_id: str,
    policy: autoscaling.StepScalingAction,
    *,
    metric: cloudwatch.IMetric,
    comparison: cloudwatch.ComparisonOperator,
    meaning: str,
) -> None:
    alarm = cloudwatch.Alarm(
        scope,
        construct_id,
        alarm_description=f"{meaning}: it sets their number, and nobody has to look.",
        metric=metric,
        threshold=1,
        comparison_operator=comparison,
        evaluation_periods=1,
        # Without a sweep nothing is known: then all stays as it is.
        treat_missing_data=cloudwatch.TreatMissingData.MISSING,
    )
    alarm.add_alarm_action(actions.ApplicationScalingAction(policy))
