"""What producers and operators hold: a queue, or several as one."""
