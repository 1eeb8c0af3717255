"""Goodput under overload: which order serves most tasks in time."""
