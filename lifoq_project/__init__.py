"""A project of one's own: how it is made, and how its task code becomes a package.

The constructs, the local cloud and ``lifoq init`` and ``lifoq cdk`` stand on it. ``cache`` is the
folder in which it keeps what it makes.
"""
