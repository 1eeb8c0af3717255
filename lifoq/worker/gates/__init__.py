"""Whatever may hold a waiting task back: each thing a gate, in a file of its own.

Begin with ``all_gates``, which lists them in their order. ``gate`` is what each of them answers,
``counting`` what those share which count what is inside, and ``gates`` asks them. Two rooms have
what is behind a gate: ``adaptive`` searches for the capacity of a downstream, and
``quota_protocol`` divides a limit among workers (``quota`` and ``unit_quota``).
"""
