"""The backlog: which task is next, and when to poll for more.

    PollTiming ──when──▶ Poller ──asks──▶ BackgroundCalls ──▶ the index
                           ▲                                     │
                           └──────────── pages of rows ◀─────────┘
                         Poller puts the rows into its BacklogView (kept in order by ViewIndex)
                         and takes the next one from it, past the keys that BusyKeys names

``claim_order`` chooses the end of the queue, ``fair_shares`` the key whose turn it is,
``known_types`` the types that this worker has handlers for.
"""
