"""Workers that start tasks of one key at the same time, on DynamoDB Local: the memory table and
moto cannot show that its transactions exclude each other."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab import dynamodb_local
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.basics.host import SYSTEM
from lifoq.errors import KeyBusy, NotClaimed, StoreUnavailable
from lifoq.items.key_limit import KeyLimit
from lifoq.items.task import NewTask
from lifoq.store.keyed_claims import KeyedClaims
from lifoq.store.store import Store

pytestmark = pytest.mark.prove

WORKERS = 6
STARTS = 12
INTERVAL = 0.25
"""Seconds between two starts of the key."""
PATIENCE = 120.0


def test_however_many_workers_ask_for_a_key_its_starts_are_an_interval_apart(
    dynamodb_local_endpoint, new_dynamo_table
):
    name = new_dynamo_table(dynamodb_local_endpoint).name
    arguments = {"endpoint_url": dynamodb_local_endpoint, **dynamodb_local.CREDENTIALS}
    store, limit = Store(DynamoTable.connect(name, **arguments)), KeyLimit(rate=1 / INTERVAL)
    store.put_many([NewTask(task_type="a", key="k") for _ in range(STARTS)])
    until, ready = time.monotonic() + PATIENCE, threading.Barrier(WORKERS)

    def work(number: int) -> list[tuple[float, float]]:
        """Return when each claim that was granted was sent, and when it was answered."""
        own = Store(DynamoTable.connect(name, **arguments))
        claims, granted = KeyedClaims(own, host=SYSTEM, worker=f"worker-{number}"), []
        ready.wait()
        while (rows := own.candidates(limit=STARTS).rows) and time.monotonic() < until:
            sent = time.monotonic()
            try:
                claims.claim(rows[number % len(rows)], key_limit=limit, lease=60)
            except (KeyBusy, NotClaimed, StoreUnavailable):
                time.sleep(0.01)  # no longer, so that all ask at the same time
            else:
                granted.append((sent, time.monotonic()))
        return granted

    with ThreadPoolExecutor(WORKERS) as pool:
        granted = sorted(itertools.chain(*pool.map(work, range(WORKERS))))
    assert len(granted) == STARTS
    for (sent, answered), (other_sent, other_answered) in itertools.combinations(granted, 2):
        # Each was granted at some moment between.
        assert max(answered - other_sent, other_answered - sent) >= INTERVAL
