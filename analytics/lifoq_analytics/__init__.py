"""The report on what the queue did, made by Spark from the table's exports.

    exports ─reading▶ observations ─judging▶ one row per task ─answers▶ numbers ─page▶ report.html

- ``reading``: finds the files of the exports, and reads their lines as observations of tasks.
- ``judging``: brings the observations of each task together, and decides what became of it.
- ``answers``: counts, rates, times, buckets and rankings, computed from the judged tasks.
- ``page``: the report that people look at.

``report`` is the command, ``analysis`` the steps of a run in their order, ``passes`` what runs on
Spark's executors, ``session`` the connection to Spark. ``columns``, ``times``, ``storage`` and
``errors`` serve all rooms.
"""
