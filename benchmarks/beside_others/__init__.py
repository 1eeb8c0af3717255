"""Newest first in other queues: the demo's overload through Celery, RQ, BullMQ and lifoq."""
