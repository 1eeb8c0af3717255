"""``lifoq dev --debug``: task code runs in this process, one task at a time and without timeouts,
so that ``breakpoint()`` and debuggers reach it.
"""

import importlib
import logging
import os
import sys
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Final

from lifoq.client.queue import Queue
from lifoq.environment import Environment
from lifoq.operating import deployment
from lifoq.operating.processing import Processing
from lifoq.store.store import Store
from lifoq.targets import configured
from lifoq.worker.handlers import task_id_in_logs as logged
from lifoq.worker.handlers.registry import REGISTRY, Registry
from lifoq.worker.processor import Processor
from lifoq_localcloud.cloud import LocalCloud
from lifoq_project import requirements
from lifoq_project.requirements import Platform

PATIENCE: Final = 7 * 86_400.0
"""Seconds for which somebody may look at one attempt."""


class Debugged:
    """A worker, which ``run`` keeps at work on the code as it was saved last."""

    def __init__(self, store: Store, environment: Environment) -> None:
        """``environment``: that of the queue's processor."""
        self._store = store
        self._environment = environment
        self._settings = replace(environment.worker(), in_flight=1, task_timeout=PATIENCE)
        self._changed = threading.Event()
        self._ended = False
        self._processor: Processor | None = None

    @classmethod
    def of(cls, cloud: LocalCloud, queue_name: str, folder: Path) -> "Debugged":
        """Return a worker in place of the deployed processor, which is paused."""
        arguments = cloud.arguments()
        Processing.connect(queue_name, **arguments).pause("lifoq dev --debug")
        function = deployment.read(queue_name, **arguments).functions[deployment.PROCESSOR]
        found = cloud.client("lambda").get_function_configuration(FunctionName=function)
        environment = Environment(found["Environment"]["Variables"])
        os.environ.update({**environment.variables, **cloud.environment()})
        package = _package(environment)
        lock = requirements.locked(folder / package)
        sys.path.insert(0, str(folder))
        sys.path.append(str(requirements.installed(lock, Platform.of_this_machine())))
        _show_log(package)
        return cls(Queue.connect(queue_name, **arguments).store, environment)

    def run(self) -> None:
        """Until ``end``. Code that cannot be imported is told, and waited for."""
        while not self._ended:
            self._changed.clear()
            try:
                self._processor = Processor(self._store, self._imported(), self._settings)
                if not (self._changed.is_set() or self._ended):
                    self._processor.serve()
            except Exception:  # noqa: BLE001 - whatever it is, it is told
                traceback.print_exc()
                self._changed.wait()

    def reload(self) -> None:
        """Run the code as it is saved now, once the attempt is over that somebody looks at."""
        self._stop(grace=PATIENCE)

    def end(self) -> None:
        self._ended = True
        self._stop(grace=0)

    def _stop(self, *, grace: float) -> None:
        self._changed.set()
        if self._processor is not None:
            self._processor.stop(grace=grace)

    def _imported(self) -> Registry:
        sys.dont_write_bytecode = True  # it would hide what is saved twice in a second
        for name in list(sys.modules):
            if name.partition(".")[0] == _package(self._environment):
                del sys.modules[name]
        REGISTRY.clear()
        importlib.invalidate_caches()
        importlib.import_module(self._environment.tasks)
        if self._environment.targets is not None:
            configured.register(REGISTRY, configured.decode(self._environment.targets))
        return REGISTRY.without_timeouts()


def _show_log(package: str) -> None:
    """Show the log of task code on the terminal, with the ids of its tasks."""
    logging.getLogger(package).setLevel(logging.INFO)
    logged.install()
    for handler in logging.getLogger().handlers:
        handler.setFormatter(logged.Formatter("%(asctime)s  %(message)s", "%H:%M:%S"))


def _package(environment: Environment) -> str:
    return environment.tasks.partition(".")[0]
