"""Lambda functions as processes of this machine.

    event → ``asynchronous`` (queue, retries, destinations) → ``pool`` (concurrency)
          → ``instance`` (one process, one event at a time) ⇄ ``runtime_api`` (HTTP)
          ⇄ ``bootstrap`` (in the process: AWS's own runtime client)

A synchronous invocation begins at the pool. ``sandboxes`` lays out what a process may import, and
its environment. ``processes`` ends a process with all that it started. ``metrics`` takes metrics
from its output. ``function`` has a function's configuration and an invocation's outcome.
"""
