"""The search behind ``adaptive_concurrency``: how many tasks of a type a downstream takes at once.

``capacity_search`` moves the number up and down and judges by what follows, ``attempt_times``
measures, and ``capacity_estimate`` keeps what is known. ``kept_limits`` hands what was found on to
the next process. ``LoadSignal``, in ``gate``, is what the end of an attempt says of the load.
"""
