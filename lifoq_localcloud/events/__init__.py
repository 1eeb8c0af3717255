"""The sources of events: each turns something that happened into an invocation.

    table's stream → ``stream_poller`` ┐
    SQS queue → ``queue_poller``       ├→ a function of room ``functions``
    schedule → ``scheduler``           │
    SNS message → ``notifications``    │
    HTTP request → ``http_api``        ┘

``sources`` has what was deployed of each, ``filters`` the patterns of event source mappings, and
``schedule_expression`` the times of a schedule. ``faults`` loses messages and records on purpose.
"""
