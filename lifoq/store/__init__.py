"""The store: the operations on a queue's table, wherever its items are kept.

    producers   workers          sweep         operators         whoever looks
       │           │               │               │                  │
      Puts   AttemptWrites    SweepWrites   OperatorWrites          Reads
       └───────────┴───────────────┼───────────────┴──────────────────┘
                               StoreBase
                                   │
                           Table (a protocol)
                     ┌─────────────┴─────────────┐
             MemoryTable (here)       DynamoTable (``lifoq.aws``)

Each operation is one read or one conditional write. ``Store`` has them all. ``claims`` and
``keyed_claims`` claim tasks, without and with limits per key; ``quota_tables`` keeps the limits
that all workers share; ``large_values`` moves what is too large for an item into a bucket.
"""
