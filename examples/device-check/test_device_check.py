"""The configured request, to an old system on this machine."""

import json
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from targets import TARGETS

from lifoq import REGISTRY
from lifoq.targets.configured import register

DEVICES = [f"d-{number}" for number in range(12)]


class OldSystem(BaseHTTPRequestHandler):
    """Takes two requests at a time, and needs 50 ms for each."""

    slots = threading.Semaphore(2)

    def do_POST(self):
        device = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["device"]
        if not self.slots.acquire(blocking=False):
            self.send_error(503)
            return
        time.sleep(0.05)
        self.slots.release()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"checked": device}).encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module", autouse=True)
def old_system():
    server = ThreadingHTTPServer(("127.0.0.1", 0), OldSystem)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = {
        "url": f"http://127.0.0.1:{server.server_port}/check",
        "allowed_networks": ("127.0.0.0/8",),
    }
    register(REGISTRY, {name: replace(target, **here) for name, target in TARGETS.items()})
    yield
    server.shutdown()
    server.server_close()


def test_a_system_that_is_full_is_asked_for_less_and_answers_for_all(
    lifoq_queue, lifoq_host, lifoq_run
):
    for device in DEVICES:
        lifoq_queue.put("device.check", {"device": device}, task_id=device)

    busy = 0
    for _ in range(30):
        busy += lifoq_run().retried
        lifoq_host.advance(3)

    checked = [lifoq_queue.wait(device, timeout=1)["checked"] for device in DEVICES]
    assert checked == DEVICES
    assert busy > 0
