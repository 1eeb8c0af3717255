"""What a run does where types are at their limits, and where a heartbeat is answered late."""
