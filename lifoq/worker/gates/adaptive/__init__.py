"""The search behind the gate of capacity: how many tasks of a type a downstream takes at a time.

``adaptive_concurrency`` moves the number up and down and judges by what follows, ``attempt_times``
measures, ``capacity_estimate`` keeps what is known, and ``kept_limits`` hands it on to the next
process. ``load_signal`` is what the end of an attempt says of the load.
"""
