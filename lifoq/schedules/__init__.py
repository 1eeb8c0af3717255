"""Schedules that put tasks: when they fire, what they put, and where a queue keeps those that its
clients make."""
