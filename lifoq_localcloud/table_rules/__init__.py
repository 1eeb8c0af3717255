"""DynamoDB's refusals that need no item: a request is held against these rules first.

``item_requests.rules`` asks them, in the order in which DynamoDB looks:

1. ``constraints``: each parameter against the service's own model (required, length, range, enum).
2. ``creation``: the keys and indexes of a new table.
3. ``values``: attribute values (sets, numbers, nesting, size). They are written as DynamoDB stores
   them.
4. ``legacy``: older parameters, which become expressions. Then the expressions are read.
5. ``queries``: parameters of a query or a scan that do not fit together.
6. ``keys``: keys and index keys against the table's schema; batches and transactions with one key
   twice.

A rule raises ``RefusedError``, which says what DynamoDB says. ``repeats`` knows transactions that
were sent before.

Sources of the sentences: the answers that github.com/nubo-db/dynamodb-conformance recorded on AWS,
and DynamoDB's API reference.
"""
