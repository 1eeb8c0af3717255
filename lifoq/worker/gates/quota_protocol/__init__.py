"""The protocol behind the gate of a quota: how workers divide a limit that holds over all of them.

``worker_quota`` is one worker's part of one limit, and begins with an example in numbers. ``state``
names its changes, ``demand`` is what its tasks used and asked for, ``renewals`` are the calls that
keep it, and ``renewal_answer`` is their answer. ``times`` has all seconds, and how they rest on
each other.

That no more starts than may rests on a few lines: ``QuotaTable.after`` in ``items.quota_table``,
which divides; ``QuotaState.usable``, ``Quota._may_fill`` and ``RateShards`` here, which keep to
what was given. All else decides how much is asked for and given back, and so how fast tasks go.
"""
