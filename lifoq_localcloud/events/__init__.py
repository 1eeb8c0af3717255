"""The sources of events: each turns something that happened into an invocation.

    table's stream → ``stream_poller`` ┐
    SQS queue → ``queue_poller``       ├→ a function of room ``functions``
    schedule → ``scheduler``           │
    SNS message → ``notifications``    │
    HTTP request → ``http_api``        ┘

``sources`` has what was deployed of each, and ``filters`` the patterns of event source mappings;
when a schedule fires, ``lifoq.schedules`` says. ``faults`` loses messages and records on purpose.
"""
