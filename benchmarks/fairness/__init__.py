"""Fairness: what one key that floods the queue does to the others."""
