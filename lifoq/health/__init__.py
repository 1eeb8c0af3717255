"""The health of a queue, read from its table: statistics, pressure, and a headline in words.

The sweep and the workers leave notes in the table (``sweep_note``, ``pressure``), since nobody else
can see what was started or shed.
"""
