"""The performance page: rendered from the results on disk, so that it says what was run."""
