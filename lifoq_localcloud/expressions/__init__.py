"""DynamoDB's expressions: read, held against DynamoDB's rules, and evaluated.

text → ``tokens`` → ``grammar`` → a tree (``tree``) → names and values put in (``names``)
     → ``conditions`` (conditions, filters), ``key_conditions``, ``projections``, ``updates``

A tree depends on its text alone, and is kept for the next request with that text. DynamoDB tells
mistakes in an order of its own: syntax, parentheses, functions and reserved words, then names,
values and types. The sentences are those of DynamoDB Local and of the conformance suite.
"""
