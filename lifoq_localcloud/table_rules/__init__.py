"""DynamoDB's refusals, which moto lacks: a request is held against these rules before moto.

The rules are lists of functions, in the order in which DynamoDB looks:

1. ``constraints``: each parameter against the service's own model (required, length, range, enum).
2. ``creation``: the keys and indexes of a new table.
3. ``values``: attribute values (sets, numbers, nesting, size).
4. ``expressions``: which names and values an expression uses, and what must not be mixed with it.
5. ``keys``: keys and index keys against the table's schema; batches and transactions with one key
   twice.
6. ``queries``: where a query starts, what it filters by, bounds that are upside down.

``rules.apply`` asks all of them, and raises ``RefusedError``, which says what DynamoDB says. It
writes numbers as DynamoDB stores them, too. ``repeats`` knows transactions that were sent before.

Sources of the sentences: the answers that github.com/nubo-db/dynamodb-conformance recorded on AWS,
and DynamoDB's API reference.
"""
