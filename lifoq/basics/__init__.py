"""What needs nothing else: clocks, threads, numbers, JSON."""
