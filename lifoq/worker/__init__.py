"""What claims tasks and runs them: the processor, the sweep, and what task code is told."""
