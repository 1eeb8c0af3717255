"""The configured request, to an old system on this machine."""

import threading
from dataclasses import replace

import old_system
import pytest
from targets import TARGETS

from lifoq import REGISTRY
from lifoq.targets.configured import register

DEVICES = [f"d-{number}" for number in range(12)]


@pytest.fixture(scope="module", autouse=True)
def asked():
    with old_system.at(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/check"
        here = {"url": url, "allowed_networks": ("127.0.0.0/8",)}
        register(REGISTRY, {name: replace(target, **here) for name, target in TARGETS.items()})
        yield
        server.shutdown()


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
