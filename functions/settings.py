"""What the functions are told about their stage. The stacks write these environment variables from
the stage configuration, which is where their values are checked and explained."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from lifoq.backoff import Backoff
from lifoq.dynamo import DynamoTable
from lifoq.store import Store
from lifoq.transitions import Lifetimes
from lifoq.worker import WorkerSettings


class MissingSetting(KeyError):
    """An environment variable is not there: the function was not deployed by its stack."""

    def __str__(self) -> str:
        return (
            f"environment variable {self.args[0]} is not set; the stacks set it, deploy with them"
        )


@dataclass(frozen=True)
class Settings:
    """Reads the environment on demand, so that each function needs only its own variables."""

    environment: Mapping[str, str]

    @classmethod
    def of_this_process(cls) -> "Settings":
        return cls(os.environ)

    @property
    def trigger_topic_arn(self) -> str:
        return self._text("LIFOQ_TRIGGER_TOPIC_ARN")

    @property
    def process_topic_arn(self) -> str:
        return self._text("LIFOQ_PROCESS_TOPIC_ARN")

    @property
    def max_attempts(self) -> int:
        return int(self._text("LIFOQ_MAX_ATTEMPTS"))

    def store(self) -> Store:
        table = DynamoTable.connect(self._text("LIFOQ_TABLE"))
        return Store(table, lifetimes=self.lifetimes())

    def lifetimes(self) -> Lifetimes:
        return Lifetimes(
            deadline=self._number("LIFOQ_DEADLINE_SECONDS"),
            success_retention=self._number("LIFOQ_RETENTION_SUCCESS_SECONDS"),
            failure_retention=self._number("LIFOQ_RETENTION_FAILURE_SECONDS"),
        )

    def worker(self) -> WorkerSettings:
        return WorkerSettings(
            window=self._number("LIFOQ_WINDOW_SECONDS"),
            task_timeout=self._number("LIFOQ_TASK_TIMEOUT_SECONDS"),
            lease=self._number("LIFOQ_LEASE_SECONDS"),
            heartbeat=self._number("LIFOQ_HEARTBEAT_SECONDS"),
            in_flight=int(self._text("LIFOQ_IN_FLIGHT")),
            page=int(self._text("LIFOQ_PAGE")),
            max_attempts=self.max_attempts,
            backoff=self._backoff(),
            rate_limit=self._optional_number("LIFOQ_RATE_LIMIT"),
            adaptive_threshold=self._optional_number("LIFOQ_ADAPTIVE_THRESHOLD_SECONDS"),
        )

    def _backoff(self) -> Backoff:
        shortest = self._number("LIFOQ_BACKOFF_MIN_SECONDS")
        longest = self._number("LIFOQ_BACKOFF_MAX_SECONDS")
        match self._text("LIFOQ_BACKOFF_GROWTH"):
            case "fixed":
                return Backoff.fixed(shortest)
            case "linear":
                return Backoff(min_seconds=shortest, max_seconds=longest, growth="linear")
            case _:
                return Backoff(min_seconds=shortest, max_seconds=longest)

    def _text(self, name: str) -> str:
        try:
            return self.environment[name]
        except KeyError:
            raise MissingSetting(name) from None

    def _number(self, name: str) -> float:
        return float(self._text(name))

    def _optional_number(self, name: str) -> float | None:
        return self._number(name) if name in self.environment else None
