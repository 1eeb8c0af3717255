"""DynamoDB's operations on items, answered from the tables' rows.

request → ``rules`` (what DynamoDB refuses, older parameters as expressions) → ``answers``, which
asks ``changes`` (puts, updates, deletions), ``reading`` (queries and scans) or itself (batches and
transactions). moto has no part in it: it keeps the tables' descriptions, and calls the operations
on tables.
"""
