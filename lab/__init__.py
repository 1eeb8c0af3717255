"""What tests and benchmarks both stand on. Nothing of it is shipped."""
