"""Faults on purpose: what AWS may lose, lost more often, and the same way for the same seed."""

import random
import threading
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class FaultSettings:
    """Fractions from 0 to 1."""

    drop_notifications: float = 0.0
    """SNS messages that never reach their function."""
    drop_stream_records: float = 0.0
    """Stream records that pass the filter and never reach their function."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("drop_notifications", "drop_stream_records"):
            fraction = getattr(self, name)
            if not 0 <= fraction <= 1:
                raise ValueError(f"{name} is {fraction}; it must lie between 0 and 1.")


class Faults:
    """Decides for each delivery whether it is lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.set(FaultSettings())

    def set(self, settings: FaultSettings) -> Self:
        with self._lock:
            self._settings = settings
            self._notifications = random.Random(f"notifications {settings.seed}")
            self._records = random.Random(f"records {settings.seed}")
        return self

    def keep_notification(self) -> bool:
        with self._lock:
            return self._notifications.random() >= self._settings.drop_notifications

    def keep_record(self) -> bool:
        with self._lock:
            return self._records.random() >= self._settings.drop_stream_records
