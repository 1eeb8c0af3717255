"""The main job, whole, on one machine: more work than a slow downstream can take."""
