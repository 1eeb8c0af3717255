"""The task code, in memory."""

import pytest

import tasks


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(tasks.time, "sleep", lambda _: None)


def test_a_second_attempt_goes_on_where_the_first_was_cut_short(
    lifoq_queue, lifoq_host, lifoq_run, monkeypatch
):
    def cut_short(_):
        yield "I"
        raise ConnectionError("the model is gone")

    lifoq_queue.put("question.answer", "Why?", task_id="why")
    with monkeypatch.context() as broken:
        broken.setattr(tasks, "model", cut_short)
        assert lifoq_run().retried == 1
    reader = iter(lifoq_queue.stream("why", timeout=3600))
    assert next(reader) == "I"

    lifoq_host.advance(60)
    lifoq_queue.run_now("why")
    assert lifoq_run().succeeded == 1
    assert list(reader) == ["do", "not", "know", "why."]
