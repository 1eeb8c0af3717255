"""The sweep: once a minute it does what no run can.

It brings back tasks whose lease is over, promotes DELAYED tasks that are due, sheds at the deadline
where somebody waits to be told, measures the queue, and kicks the processor. ``stall_watch`` tells
whether tasks wait and nobody claims any.
"""
