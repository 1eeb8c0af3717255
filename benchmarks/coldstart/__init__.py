"""Cold start: what a function does before its first event, and how much memory it takes."""
