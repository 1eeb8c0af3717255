"""The task code and the stand-in, without AWS."""

import threading
from types import SimpleNamespace

import pytest
from limits import Limits, question_of
from model import PART_TOKENS, Model

import tasks
from lifoq import Cancelled, Status


@pytest.fixture
def model(monkeypatch):
    with Model(port=0, pause=lambda _: None) as model:
        monkeypatch.setattr(tasks, "MODEL", model.url)
        threading.Thread(target=model.serve_forever, daemon=True).start()
        yield model
        model.shutdown()


def test_an_answer_is_weighed_by_what_it_took(model, lifoq_queue, lifoq_run):
    cost = question_of("Why?")
    lifoq_queue.put("question.answer", "Why?", task_id="why", weight=cost.estimate)
    assert lifoq_run().succeeded == 1
    assert lifoq_queue.get("why").result["tokens"] == model.tokens == cost.total


def test_a_full_model_is_asked_again_when_it_says(model, lifoq_queue, lifoq_host, lifoq_run):
    while not model.enter(1_000):
        pass  # others use up what it has saved
    lifoq_queue.put("question.answer", "Why?", task_id="why", weight=1_000)
    lifoq_run()
    assert (lifoq_queue.get("why").status, model.tokens) == (Status.DELAYED, 0)

    model.give_back(10_000)
    lifoq_host.advance(15)
    assert lifoq_run().succeeded == 1


def test_an_answer_is_broken_off_when_nobody_waits_any_more(model):
    weighed = []
    left = SimpleNamespace(cancelled=True, task_id="why", remaining=60, weighed=weighed.append)
    with pytest.raises(Cancelled):
        tasks.answer("Why?", left)
    assert weighed == [question_of("Why?").prompt + PART_TOKENS]


def test_requests_and_tokens_are_limited_side_by_side():
    limits = Limits(now=0)
    assert [limits.enter(9_000, 0), limits.enter(9_000, 0), limits.enter(9_000, 8)] == [0, 8, 0]
    limits = Limits(now=0)
    passed = [limits.enter(1, 0) for _ in range(15)]
    assert passed == [0] * 13 + [1, 1]
