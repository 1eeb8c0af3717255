"""Refusals of the services other than DynamoDB, which moto does not make.

::

    a call of the API ──▶ calls ──┬──▶ the service's model: required, lengths, patterns, enums
                                  └──▶ functions · schedules · event_rules · state_machines · queues
                                       topics · documents · metrics · objects · keys · streams:
                                       a check for each operation
                                              ▲
    a template ──▶ templates ─────────────────┴──▶ AWS's schema of each type of resource

A check takes the parameters of a call, or the properties of a resource of the same names, and
raises ``RefusedError`` with AWS's code and sentence. It knows nothing of what there is: that a
function or a queue is missing is for moto to say, or for ``moto_adapter/refusals.py``.
"""
