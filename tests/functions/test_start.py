"""The start of a function: Python collects garbage from its end on."""

import gc
import importlib

import pytest

import lifoq_functions
from lifoq.environment import Variable
from lifoq.ingest.mapping import IngestMapping

FUNCTIONS = ("api", "create_tasks", "ingest", "process_tasks", "sweep", "task_events", "trigger")


@pytest.fixture
def collected():
    yield
    gc.enable()


@pytest.mark.usefixtures("collected")
def test_garbage_is_collected_from_the_end_of_a_functions_start_on(load, monkeypatch):
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "function")
    importlib.reload(lifoq_functions)
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME")
    assert not gc.isenabled()
    more = {Variable.INGEST_MAPPING: IngestMapping().encode(), Variable.QUEUE: "prod"}
    for name in FUNCTIONS:
        gc.disable()
        load(name, **more)
        assert gc.isenabled(), name
