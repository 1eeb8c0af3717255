"""How tasks ended, for those who asked to be told: a topic, and Step Functions."""
