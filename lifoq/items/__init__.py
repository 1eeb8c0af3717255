"""The task item: its names, its values, and the ways that it can go."""
