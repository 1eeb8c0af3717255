"""The backlog: which task is next, and when to poll for more.

    PollTiming ──when──▶ Poller ──asks──▶ BackgroundCalls ──▶ the index
                           ▲                                     │
                           └──────────── pages of rows ◀─────────┘
                         Poller puts the rows into its BacklogView (kept in order by ViewIndex)
                         and takes the next one from it, past the keys that BusyKeys names

``claim_order`` chooses the end of the queue, ``fair_shares`` the key that is served next, and
``batches`` how many tasks share a call. ``claimed_tasks`` are those that the run has already, and
``known_types`` those types that this worker has handlers for. ``poll_timing`` begins with how a run
decides that the queue is empty.
"""
