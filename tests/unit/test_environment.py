"""What whoever deploys writes, a function reads; what makes no sense is told by its name."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifoq import Backoff, BadEnvironment, Lifetimes, WorkerSettings, environment
from lifoq.environment import Environment, Variable

seconds = st.floats(min_value=1e-6, max_value=1e8)
backoffs = st.builds(
    Backoff,
    min_seconds=st.floats(min_value=1e-6, max_value=10),
    max_seconds=st.floats(min_value=10, max_value=1e6),
    growth=st.sampled_from(["exponential", "geometric", "linear", "arithmetic"]),
    immediate=st.integers(0, 10),
    pre_backoff=st.integers(0, 10),
    post_backoff=st.integers(0, 10),
    jitter=st.booleans(),
)
workers = st.builds(
    lambda total, **terms: WorkerSettings(
        shared_limits=total is not None, total_in_flight=total or None, **terms
    ),
    total=st.none() | st.integers(0, 1000),
    window=seconds,
    task_timeout=seconds,
    lease=st.floats(min_value=21, max_value=86_400),
    heartbeat=st.floats(min_value=0.01, max_value=10),
    in_flight=st.integers(1, 1000),
    page=st.integers(1, 1000),
    max_attempts=st.integers(1, 1000),
    backoff=backoffs,
    rate_limit=st.none() | st.floats(min_value=1e-6, max_value=1e6),
    adaptive_threshold=st.none() | seconds,
    fair_share=st.booleans(),
    types_elsewhere=st.frozensets(st.text(min_size=1), max_size=3),
    unknown_types=st.sampled_from(["wait", "fail"]),
    linger=seconds,
    settle_time=seconds,
)


@given(workers)
def test_a_worker_is_read_as_it_was_written(settings):
    assert Environment(environment.of_worker(settings)).worker() == settings


@given(
    st.builds(
        Lifetimes,
        deadline=seconds,
        success_retention=seconds,
        failure_retention=seconds,
        shed_at_deadline=st.booleans(),
        task_tokens=st.booleans(),
    )
)
def test_lifetimes_are_read_as_they_were_written(lifetimes):
    read = Environment(environment.of_queue("tasks", lifetimes))
    assert (read.table_name, read.lifetimes()) == ("tasks", lifetimes)


def changed(**fields):
    settings = json.loads(environment.of_worker(WorkerSettings())[Variable.WORKER]) | fields
    return {Variable.WORKER: json.dumps(settings)}


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (changed(window="soon"), "window='soon': must be a number"),
        (changed(window=math.nan), "window=nan: must be a number"),
        (changed(in_flight=2.5), "in_flight=2.5: must be a whole number"),
        (changed(heartbeat=40), "heartbeat=40: must be shorter"),
        (changed(fair_share=1), "fair_share=1: must be"),
        (changed(backoff={"growth": "fast"}), "must be exponential"),
        ({Variable.WORKER: "{"}, "does not hold WorkerSettings"),
        ({Variable.WORKER: "[]"}, "does not hold WorkerSettings"),
        ({}, "is not set; the deployment sets it"),
    ],
)
def test_a_bad_value_is_told_with_its_variable_and_the_remedy(variables, sentence):
    with pytest.raises(BadEnvironment) as caught:
        Environment(variables).worker()
    assert caught.value.variable == Variable.WORKER
    assert "environment variable LIFOQ_WORKER" in str(caught.value)
    assert sentence in str(caught.value)
    assert "deploy the queue anew" in str(caught.value)


def test_what_a_later_release_says_beside_is_left_alone():
    assert Environment(changed(colour="red")).worker() == WorkerSettings()


def test_a_function_needs_its_own_variables_only():
    assert Environment({Variable.PROCESS_TOPIC: "arn"}).process_topic_arn == "arn"
