"""The account and what every room stands on.

One account in one region (``account``) lies in one folder that nobody else may read (``folder``).
Each start makes a secret there, and every access key from it (``credentials``, ``clients``). All
threads are guarded (``threads``), and what is due later waits on one of them (``timer``).
"""
