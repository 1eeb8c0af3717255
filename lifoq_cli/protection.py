"""A worker that holds tasks asks ECS to stop another one, where fewer are needed.

By the agent's endpoint that is in every container of ECS
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html).
"""

import json
import logging
import math
import os
import urllib.request
from dataclasses import dataclass, field
from typing import Final

import click

AGENT: Final = "ECS_AGENT_URI"
PATIENCE: Final = 3.0
"""Seconds for an answer; a worker can do nothing else meanwhile."""
MINUTE: Final = 60

log = logging.getLogger("lifoq.work")


@dataclass(kw_only=True)
class Protection:
    """ECS's protection during one stretch of work, from the first task to the moment without any.
    It ends by itself after ``minutes``: a worker that is never idle has to be replaced some time,
    too."""

    url: str
    minutes: int
    _protected: bool = field(default=False, init=False)

    @classmethod
    def of_this_task(cls, seconds: float) -> "Protection":
        """Return the protection of this task of ECS. Raises UsageError where this is none."""
        try:
            agent = os.environ[AGENT]
        except KeyError:
            raise click.UsageError(f"--protect is for tasks of ECS: {AGENT} is not set") from None
        return cls(
            url=f"{agent}/task-protection/v1/state", minutes=max(1, math.ceil(seconds / MINUTE))
        )

    def keep(self, *, busy: bool) -> None:
        """Call it every few seconds: what ECS refuses, or does not answer, is asked again."""
        if busy is self._protected:
            return
        asked: dict[str, object] = {"ProtectionEnabled": busy}
        if busy:
            asked["ExpiresInMinutes"] = self.minutes
        request = urllib.request.Request(  # noqa: S310 - the agent's own address
            self.url,
            data=json.dumps(asked).encode(),
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                # Also what ECS refuses, such as during a deployment, is answered with 200.
                why = json.load(answer).get("failure", {}).get("Reason")
        except (OSError, ValueError) as error:
            why = error
        if why is None:
            self._protected = busy
        else:
            log.warning("ECS does not %s this worker: %s", "protect" if busy else "release", why)
