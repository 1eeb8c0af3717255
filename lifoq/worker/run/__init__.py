"""One run of the processor: its threads, its mailbox and the messages between them.

    ┌─ the thread of the run ───────────────────────────────────────────────────┐
    │ loop.Run: takes a message or waits for a timer, decides, makes no call    │
    │   may it start? RunGates        which is next? Poller                     │
    │   when to poll? Facts           which tasks has it? TasksOfThisRun        │
    │   can it go on? CircuitBreaker                                            │
    └──┬─────────────────────────────────────────────────────────────────▲──────┘
       │ starts a thread for each                             mailbox    │
       │                                                                 │
       ├──▶ attempt: claim, handler, outcome ──▶ NotStarted              │
       │                                         Started, then Settled ──┤
       │                                         SlotFree ───────────────┤
       ├──▶ heartbeat of an attempt ───────────▶ NotRenewed ─────────────┤
       ├──▶ outcome after a timeout, or of                               │
       │    a task that is handed back ────────▶ Settled ────────────────┤
       └──▶ background call ───────────────────▶ its answer, or Failed ──┤
                                                                         │
            Processor.stop, in any thread ─────▶ Stop ───────────────────┘

The messages, who sends each, and why:

| message | sent by | says |
|---|---|---|
| ``NotStarted`` | an attempt | the claim gave nothing to run |
| ``Started`` | an attempt | the task is claimed, and its handler begins |
| ``Settled`` | an attempt, or the thread that ends it | the outcome is written, or could not be |
| ``SlotFree`` | an attempt, perhaps of an earlier run | a handler has returned, or is not called |
| ``NotRenewed`` | a heartbeat | it was not confirmed; a heartbeat that was tells nothing |
| ``Shown`` | ``BackgroundCalls.poll`` | the first page |
| ``ShownBehind`` | ``BackgroundCalls.poll_behind`` | a page behind the first |
| ``Promoted`` | ``BackgroundCalls.promote`` | a due task is PENDING again; one for each |
| ``PromotedAll`` | ``BackgroundCalls.promote`` | the promotion is over |
| ``DeadLettered`` | ``BackgroundCalls.dead_letter``, ``promote`` | a damaged item is FAILURE |
| ``RenewalAnswer`` | ``BackgroundCalls.renewals`` | a quota was renewed, or could not be |
| ``Noted`` | ``BackgroundCalls.note`` | the note for producers is written, or lost |
| ``Remaining`` | ``BackgroundCalls.ask_whether_tasks_wait`` | tasks wait, or none does |
| ``Failed`` | any background call | it has failed, and which one it was |
| ``Stop`` | ``Processor.stop`` | claim no more; hand back after the grace |

``course_of_attempt`` is what a thread does with a task, from the claim to its outcome;
``attempt_and_messages`` is what is known of it meanwhile, and ``shared_call`` the call of a
handler, which the tasks of a batch share. ``database_circuit_breaker`` ends a run when the database
does not answer, ``tally`` counts what was done, ``report`` is what the caller gets.
"""
