"""Backlog depth: what a look at the queue and a claim cost, however many tasks wait."""
