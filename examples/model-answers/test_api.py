"""The application, with a queue in memory."""

import time
from concurrent.futures import ThreadPoolExecutor

import api
import pytest
from fastapi.testclient import TestClient

import tasks


@pytest.fixture
def client(lifoq_queue, monkeypatch):
    part = {"text": "Because.", "tokens": 700}
    monkeypatch.setattr(tasks, "asked", lambda question, timeout: [part])
    monkeypatch.setitem(api.app.dependency_overrides, api.questions, lambda: lifoq_queue)
    return TestClient(api.app)


def test_who_asks_gets_the_answer(client, lifoq_queue, lifoq_run):
    with ThreadPoolExecutor(1) as user:
        asked = user.submit(client.get, "/answers", params={"question": "Why?"})
        while not lifoq_queue.peek(1):
            time.sleep(0.01)
        assert lifoq_run().succeeded == 1
        assert asked.result().json() == {"text": "Because.", "tokens": 700}


def test_who_finds_nobody_free_in_time_is_told_to_come_again(client, monkeypatch):
    monkeypatch.setattr(api, "PATIENCE_SECONDS", 0.1)
    answer = client.get("/answers", params={"question": "Why?"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
