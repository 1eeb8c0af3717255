"""Find out what is wrong with a deployed queue: a list of checks, and what each finding means."""
