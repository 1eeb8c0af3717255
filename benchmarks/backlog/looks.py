"""A look at the queue and a claim, as a processor's run does it, and what they cost."""

import time
import uuid
from dataclasses import dataclass
from typing import Any, Final

import boto3

from benchmarks.backlog.units import Units
from lab.dynamodb_local import CREDENTIALS
from lifoq.items.schema import table_definition
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Candidate, Store
from lifoq.worker.lookout import larger_page
from lifoq.worker.settings import WorkerSettings

PAGE: Final = WorkerSettings().page


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one look and the claim after it."""

    look_ms: float
    claim_ms: float
    read_units: float
    write_units: float


class Backlog:
    """A queue's table on DynamoDB Local, with a client that tells what its calls consume."""

    def __init__(self, endpoint: str, table_name: str) -> None:
        client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
        self.endpoint, self.table_name = endpoint, table_name
        # Without a stream, which slows DynamoDB Local's writes down the more, the more it holds;
        # and without TTL, which would delete what has expired.
        no_stream = {"StreamEnabled": False}
        client.create_table(**{**table_definition(table_name), "StreamSpecification": no_stream})
        self._store = Store(DynamoTable(name=table_name, client=client, once=client))
        self._units = Units(client)

    def look_and_claim(self, *, newest_first: bool = True) -> Cost:
        """Claims the first live task from one end of the queue."""
        self._units.take()
        began = time.perf_counter()
        row = self._first_live(newest_first=newest_first)
        looked, read_units = time.perf_counter(), self._units.take()
        self._store.claim(row.task_id, claim_id=uuid.uuid4().hex, lease=3_600)
        claimed = time.perf_counter()
        return Cost(
            look_ms=1000 * (looked - began),
            claim_ms=1000 * (claimed - looked),
            read_units=read_units,
            write_units=self._units.take(),
        )

    def _first_live(self, *, newest_first: bool) -> Candidate:
        start, limit = None, PAGE
        while True:
            page = self._store.candidates(limit=limit, start=start, newest_first=newest_first)
            now = time.time() * 1e6
            for row in page.rows:
                if row.expires_at > now:
                    return row
            if page.next is None:
                raise RuntimeError(f"{self.table_name} has no live task left")
            start, limit = page.next, larger_page(limit)
