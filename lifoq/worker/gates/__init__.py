"""Whatever may hold a waiting task back: each thing a gate, in a file of its own.

Begin with ``all_gates``, which lists them in their order. ``gate`` is what each of them answers,
and ``gates`` asks them. Two gates have more behind them, in rooms of their own: ``adaptive``
searches for the capacity of a downstream, and ``quota_protocol`` divides a limit among workers.
"""
