"""The runtime behind the API: it follows the deployed stacks, and runs their functions, event
sources, schedules, exports and TTL."""

import logging
import threading
import time
from pathlib import Path
from typing import Any

from lifoq_localcloud.basics.clients import Clients
from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.basics.timer import Timer
from lifoq_localcloud.deployments.inventory import Inventory
from lifoq_localcloud.events import notifications
from lifoq_localcloud.events.faults import Faults, FaultSettings
from lifoq_localcloud.events.http_api import Route
from lifoq_localcloud.events.queue_poller import QueuePoller
from lifoq_localcloud.events.scheduler import Scheduler
from lifoq_localcloud.events.sources import Notification
from lifoq_localcloud.events.stream_poller import StreamPoller
from lifoq_localcloud.functions import metrics
from lifoq_localcloud.functions.asynchronous import AsynchronousInvoker
from lifoq_localcloud.functions.function import FunctionConfig, Outcome
from lifoq_localcloud.functions.pool import Pool
from lifoq_localcloud.functions.sandboxes import Sandboxes
from lifoq_localcloud.http_server.gate import Callers
from lifoq_localcloud.moto_adapter import deliveries, deployed, log_group, tables
from lifoq_localcloud.tables.exports import Exports

_LOG = logging.getLogger(__name__)

TTL_SECONDS = 1.0
"""Seconds between two rounds of TTL. On AWS a deletion comes within days of its time."""


class Runtime:
    """Functions, event source mappings, notifications, schedules and TTL of one local cloud."""

    def __init__(
        self,
        *,
        directory: Path,
        credentials: Credentials,
        callers: Callers,
        clients: Clients,
        ttl_delay_seconds: float,
        first_retry_seconds: float,
        stream_pause_seconds: float,
    ) -> None:
        self._callers = callers
        self._ttl_delay = ttl_delay_seconds
        self._stream_pause = stream_pause_seconds
        self._lock = threading.RLock()
        self._pools: dict[str, Pool] = {}
        self._pollers: dict[str, StreamPoller] = {}
        self._queue_pollers: dict[str, QueuePoller] = {}
        self._clients = clients
        self._faults = Faults()
        self._inventory = Inventory(directory / "not-imitated.txt")
        self._timer = Timer()
        self._sandboxes = Sandboxes(
            directory=directory,
            credentials=credentials,
            code=deployed.function_code,
            on_output=_take_output,
        )
        self._asynchronous = AsynchronousInvoker(
            pool=self._pools.get,
            settings=deployed.invoke_config,
            send=deliveries.send,
            timer=self._timer,
            first_retry_seconds=first_retry_seconds,
        )
        self._scheduler = Scheduler(
            schedules=deployed.schedules,
            delete=deliveries.delete_schedule,
            hand=self.hand,
            send=deliveries.send,
            timer=self._timer,
        )
        self._exports = Exports(
            table=lambda arn: tables.table(arn.rsplit("/", 1)[-1]),
            bucket_exists=deliveries.bucket_exists,
            put=deliveries.put_object,
        )
        self._timer.after(TTL_SECONDS, self._expire)

    # What the gateway and moto call.

    def invoke(self, function_name: str, body: bytes, client_context: str = "") -> Outcome:
        """Run a function and wait. Raises ThrottledError, or KeyError for one that is not there."""
        return self._pools[function_name].invoke(body, client_context)

    def submit(self, function_name: str, body: bytes, client_context: str = "") -> None:
        self._asynchronous.submit(function_name, body, client_context)

    def knows(self, function_name: str) -> bool:
        return function_name in self._pools

    def deliver(self, notification: Notification) -> None:
        """An SNS message to a function: handed over, or into the subscription's own queue."""
        if not self._faults.keep_notification():
            return
        body = notifications.event(notification)
        name = notification.function_arn.split(":")[6]
        if self.knows(name):
            self.submit(name, body)
        elif notification.redrive_target:
            deliveries.send(notification.redrive_target, body.decode())

    def reconcile(self) -> None:
        """Make what runs equal to what is deployed."""
        with self._lock:
            self._reconcile_functions()
            self._reconcile_mappings()
            self._reconcile_queue_mappings()
            self._scheduler.wake()
            for line in self._inventory.news(deployed.deployed_resources()):
                _LOG.warning(line)

    def export(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Exports of tables. Raises ExportRefusedError."""
        return self._exports.answer(operation, request)

    def http_routes(self, api_id: str) -> list[Route] | None:
        """None where there is no such HTTP API."""
        return deployed.http_routes(api_id)

    def control(self, action: str, arguments: dict[str, Any]) -> Any:
        """The control route: ``status``, ``kill`` and ``faults``."""
        match action:
            case "status":
                return {
                    "functions": {name: pool.processes() for name, pool in self._pools.items()},
                    "not_imitated": self._inventory.lines(),
                }
            case "kill":
                return self._pools[arguments["function"]].kill_processes()
            case "faults":
                self._faults.set(FaultSettings(**arguments))
                return {}
        raise ValueError("there is no such action")

    def close(self) -> None:
        """Stop everything, and end every function's process."""
        self._timer.close()
        self._scheduler.close()
        with self._lock:
            for poller in self._pollers.values():
                poller.stop()
            for reader in self._queue_pollers.values():
                reader.stop()
            for pool in self._pools.values():
                pool.close()

    # How it follows the deployed stacks.

    def _reconcile_functions(self) -> None:
        configs = {config.name: config for config in deployed.functions()}
        self._callers.introduce(configs)
        for name in self._pools.keys() - configs.keys():
            self._pools.pop(name).close()
        for name, config in configs.items():
            pool = self._pools.get(name)
            if pool is None:
                self._pools[name] = Pool(config, self._sandboxes)
            elif pool.config != config:
                pool.replace(config)
        self._sandboxes.keep(lambda: set().union(*(one.digests() for one in self._pools.values())))

    def _reconcile_mappings(self) -> None:
        configs = {config.uuid: config for config in deployed.mappings()}
        for uuid in self._pollers.keys() - configs.keys():
            self._pollers.pop(uuid).stop()
        for uuid, config in configs.items():
            if uuid in self._pollers:
                self._pollers[uuid].config = config
                continue
            table = tables.table_of_stream(config.source_arn)
            if table is None:
                continue
            self._pollers[uuid] = StreamPoller(
                config=config,
                stream=table.shard,
                pool=self._pools.get,
                send=deliveries.send,
                keep=self._faults.keep_record,
                pause_seconds=self._stream_pause,
            )

    def _reconcile_queue_mappings(self) -> None:
        configs = {config.uuid: config for config in deployed.queue_mappings()}
        for uuid in self._queue_pollers.keys() - configs.keys():
            self._queue_pollers.pop(uuid).stop()
        for uuid, config in configs.items():
            if uuid in self._queue_pollers:
                self._queue_pollers[uuid].config = config
            else:
                self._queue_pollers[uuid] = QueuePoller(
                    config=config, sqs=lambda: self._clients("sqs"), pool=self._pools.get
                )

    def hand(self, target_arn: str, body: str) -> bool:
        """To the target of a schedule or a rule: a function, queue or topic."""
        if target_arn.split(":")[2] != "lambda":
            return deliveries.send(target_arn, body)
        name = target_arn.split(":")[6]
        if not self.knows(name):
            return False
        self.submit(name, body.encode())
        return True

    def _expire(self) -> None:
        try:
            tables.delete_expired(time.time() - self._ttl_delay)
        finally:
            self._timer.after(TTL_SECONDS, self._expire)


def _take_output(config: FunctionConfig, line: bytes) -> None:
    """Keep what a function wrote where CloudWatch keeps it: as a log event, and as metrics."""
    log_group.append(config.logging.get("LogGroup", ""), line, at=time.time())
    for namespace, datum in metrics.data(line):
        deliveries.put_metrics(namespace, [datum])
