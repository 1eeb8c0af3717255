"""The search behind ``adaptive_concurrency``: how many tasks of a type a downstream takes at once.

``adaptive_concurrency`` moves the number up and down and judges by what follows, ``attempt_times``
measures, and ``capacity_estimate`` keeps what is known. ``throughput`` guards the search: it counts
what gets done, and sets a ceiling where more at work got no more done. ``kept_limits`` hands what
was found on to the next process. ``load_signal`` is what the end of an attempt says of the load.
"""
