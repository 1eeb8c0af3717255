"""The sweep: once a minute it does what no run can.

    ``Sweeper.run``, step by step                             so that
      TAKEN, its lease over ──▶ PENDING, FAILURE, CANCELLED   a lost worker loses no task
      DELAYED, due ───────────▶ PENDING                       a retry starts without a worker
      waits, past its deadline ──▶ deleted                    who waits to be told is told at once
      damaged, or out of reach ──▶ FAILURE                    each such task is seen by somebody
      count, and measure ages ──▶ the sweep's note, metrics   everybody can see how the queue does
      tasks wait? ─────────────▶ a kick for the processor     no lost kick matters

``sweep`` has the steps. ``stalled_queue`` tells if tasks wait and nobody claims any.
"""
