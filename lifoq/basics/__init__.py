"""Basics that need nothing else of lifoq: clocks, threads, numbers, JSON."""
