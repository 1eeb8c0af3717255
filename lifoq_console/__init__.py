"""The console: a queue seen, and steered, in a browser on this machine, with the operator's own
credentials. ``lifoq console`` starts it.
"""
