"""Answer the report's questions from the judged tasks: how many, how fast, when, for whom."""
