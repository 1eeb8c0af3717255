"""The backlog: which task is next, and when to poll for more.

    next_poll ──when──▶ Poller ──asks──▶ BackgroundCalls ──▶ the index
                          ▲                                     │
                          └──────────── pages of rows ◀─────────┘
                        Poller puts the rows into its BacklogView (kept in order by ViewIndex)
                        and takes the next one from it that the gates let pass

``when_to_poll_or_end`` is what has happened, and pure functions of it: when the next poll is due,
and whether the queue is believed to be empty. It begins with how a run decides that, and ends.
``when_to_promote`` is the same for tasks that fall due. ``newest_or_oldest_first`` chooses the end
of the queue; within it the view goes by place, and by the excess of keys beyond their fair share.
``tasks_of_this_run`` are those that the run has already.
"""
