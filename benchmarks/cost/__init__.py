"""What a task costs: write units, reads, runs, kicks, counted on the real code."""
