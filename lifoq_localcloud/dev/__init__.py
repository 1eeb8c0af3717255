"""The development loop of ``lifoq dev``: saved code runs, and the terminal tells what it did.

    saved file → ``reload`` → ``importing`` (can the code be imported?) → a deployment of its code
    table's journal → ``attempt_log`` → a line for each attempt
    logs of functions → ``joined_logs`` → one stream of lines

With ``--debug``, ``debugged`` runs task code in the command's own process, in place of the
deployed processor.
"""
