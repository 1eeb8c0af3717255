"""A storm of repeated reports, kept or replaced; and tasks whose payloads are large."""
