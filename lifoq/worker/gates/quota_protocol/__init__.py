"""The protocol behind the gate of a quota: how workers divide a limit that holds over all of them.

``worker_quota`` is one worker's part of one limit, and begins with an example in numbers. ``state``
names its changes, ``demand`` is what its tasks used and asked for, ``renewals`` are the calls that
keep it, and ``renewal_answer`` is their answer. ``times`` has all seconds, and how they rest on
each other.

That no more starts than may rests on six things, each in one place:

1. What is divided never adds up to more than the limit: ``QuotaTable.after`` in
   ``items.quota_table``.
2. Two workers cannot both write after the same reading, and a late renewal counts for nothing:
   ``QuotaTables.take`` (a conditional write) and ``QuotaTable.after``, which looks at its number.
3. A worker believes in its quota until five seconds after it sent the write, by its own clock:
   ``QuotaState.usable``. It is asked again after the claim: ``Quota.may_begin``.
4. What a lost worker had is given to others only once no task can run on it any more:
   ``Entry.left``, and ``Quota.lease_left``, which bounds the leases.
5. What is given back is not used from the moment that the renewal is sent: ``after_sending``.
6. Shards that change hands make no tokens, and take along what they owe: ``RateShards``.

``tests/contract/test_quota_tables.py`` and ``tests/unit/test_gates.py`` hold each of them,
``tests/simulation`` and ``tests/races`` all together. Whatever else is here decides how much is
asked for and given back, and so how fast tasks go.
"""
