"""The sweep: once a minute it does what no run can.

It ends claims whose lease is over, promotes DELAYED tasks that are due, sheds tasks at the deadline
where somebody waits to be told, measures the queue, and says if a processor is needed.
``stall_watch`` tells if tasks wait and nobody claims any.
"""
