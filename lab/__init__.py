"""The ground that tests and benchmarks share: virtual time, DynamoDB Local. Nothing of it is
shipped."""
