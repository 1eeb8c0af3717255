"""Freshness: how long a new task waits until it starts, behind a backlog that never ends."""
