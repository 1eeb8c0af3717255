"""The protocol behind the gate of a quota: how workers divide a limit that holds over all of them.

``worker_quota`` is one worker's part of one limit, and begins with an example in numbers. ``state``
names its changes, ``demand`` is what its tasks used and asked for, ``renewals`` are the calls that
keep it, and ``renewal_answer`` is their answer. ``times`` has the seconds, and how they rest on
each other.

That no more starts than may rests on eight things:

1. What is divided never adds up to more than the limit: ``QuotaTable.after`` in
   ``items.quota_table``.
2. Two workers cannot both write after the same reading: ``QuotaTables.take``, a conditional write.
   A renewal that comes after a later one counts for nothing (``QuotaTable.after`` looks at its
   number). Where that one wrote nothing, or the table names its worker no more, the late one takes
   a quota that nobody uses, and that runs out.
3. A worker believes in its quota until five seconds after it sent the write, by its own clock:
   ``QuotaState.usable``. It is asked again after the claim: ``Quota.may_begin``.
4. What a lost worker had is given to others only once all leases of its tasks are over:
   ``Entry.left``, and ``Quota.lease_left``, which bounds the heartbeats. The lease of the claim
   itself needs no such bound, since 3 is asked after it. A handler that goes on without its lease
   is not counted.
5. What is given back is not used from the moment that the renewal is sent: ``after_sending``.
6. What is in use is not given back: ``keeps`` in ``Quota.renewal``. A task is inside until its
   handler has returned, beyond its timeout and beyond the run.
7. Shards that change hands make no tokens, and take along what they owe: ``RateShards``, and
   ``returns`` and ``owes`` in ``Quota``. Free shards gain tokens by the table's own time, which no
   clock sets back: ``QuotaTable.time``.
8. One lock is around all that passes or renews in a process: ``Gates.lock``.

Beside the protocol it rests on this: no two workers have the same name (``ProcessState.name``);
clocks are no more than ``CLOCKS_APART`` apart (``ServerClock``); a process that was frozen between
two runs knows it (``SteadyClock``); and all workers have the same limit in their code. While
another one is deployed, each worker reckons with its own: slots then add up to no more than the
larger of the two, starts per second to no more than both together. Units that a handler tells
afterwards (``Context.weighed``) are counted, even above the limit. What is not covered: a machine
that is suspended within a run uses its quota for up to five seconds more; and after 3 was asked, a
payload may be read and a batch be gathered before the handler starts.

``tests/contract/test_quota_tables.py`` and ``tests/unit/test_gates.py`` hold each of them,
``tests/simulation`` and ``tests/races`` all together. Whatever else is here decides how much is
asked for and given back, and so how fast tasks go.
"""
