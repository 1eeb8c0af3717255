"""All task types of this queue are requests: see targets.py."""
