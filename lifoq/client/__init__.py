"""Clients of producers and operators: a queue, or several queues as one."""
