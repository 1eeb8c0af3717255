"""The legacy system takes what its slots hold, refuses the rest, and does not outlive its demo."""

import http.client
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

from demo import downstream


def status_of(url, *, body=None):
    address = urlsplit(url)
    with closing(http.client.HTTPConnection(address.netloc, timeout=300)) as connection:
        connection.request("POST" if body else "GET", address.path, body)
        return connection.getresponse().status


def test_a_free_slot_does_the_work_whether_asked_by_get_or_by_post():
    with downstream.running(slots=1, service_seconds=0.01) as legacy:
        assert status_of(legacy.url) == 200
        assert status_of(legacy.url, body=b'{"question": "well?"}') == 200
        assert legacy.counts() == {"served": 2, "refused": 0}


def test_requests_beyond_its_slots_are_refused_at_once():
    with downstream.running(slots=2, service_seconds=1) as legacy, ThreadPoolExecutor(6) as clients:
        answers = list(clients.map(status_of, [legacy.url] * 6))
        assert sorted(answers) == [200, 200, 429, 429, 429, 429]
        assert legacy.counts() == {"served": 2, "refused": 4}


def test_it_ends_when_whoever_started_it_is_gone():
    process = subprocess.Popen(
        [sys.executable, "-m", "demo.downstream"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline().startswith(b"http://127.0.0.1:")
    process.communicate(timeout=300)
    assert process.returncode == 0
