"""The application, with a queue in memory."""

import api
import pytest
from fastapi.testclient import TestClient

import tasks


@pytest.fixture
def client(lifoq_queue, monkeypatch):
    monkeypatch.setattr(tasks.time, "sleep", lambda _: None)
    monkeypatch.setitem(api.app.dependency_overrides, api.questions, lambda: lifoq_queue)
    return TestClient(api.app)


def ask(client, text):
    asked = client.put("/questions/q-1", json={"text": text})
    assert asked.status_code == 202
    return asked.json()["answer"]


def test_an_answer_comes_in_parts_and_then_its_end(client, lifoq_run):
    where = ask(client, "Why?")
    assert ask(client, "Why?") == where  # again: it is asked once
    assert lifoq_run().succeeded == 1

    lines = client.get(where).text.split("\n\n")

    parts = ["I", "do", "not", "know", "why."]
    assert lines[:-1] == [
        *(f'event: part\ndata: "{part}"' for part in parts),
        'event: end\ndata: "SUCCESS"',
    ]


def test_a_question_that_nobody_came_to_in_time_is_told_as_shed(client, lifoq_host):
    where = ask(client, "Why?")
    lifoq_host.advance(24 * 3600)
    assert client.get(where).text == 'event: end\ndata: "TaskShed"\n\n'


def test_an_answer_to_what_nobody_asked_is_not_there(client):
    assert client.get("/questions/q-2/answer").status_code == 404
