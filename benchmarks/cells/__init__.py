"""Several queues side by side: how many are needed, and what becomes of order, cost and damage."""
