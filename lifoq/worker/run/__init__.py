"""One run of the processor.

    ┌─ the thread of the run: decides, and makes no call itself ─────────────────┐
    │  loop.Run ◀── mailbox ◀── messages                                         │
    │    asks Limits (may one start?), Poller (which?), HeldTasks (what have I?) │
    └──┬──────────────────────────────────────────────────────────────────▲──────┘
       │ starts                                                           │ reports
       ├──▶ attempt: a thread for each task: claims, runs, settles ───────┤
       └──▶ background calls: polls, promotions, renewals, notes ─────────┘

``circuit_breaker`` ends a run when the database does not answer, ``tally`` counts what was done,
``report`` is what the caller gets.
"""
