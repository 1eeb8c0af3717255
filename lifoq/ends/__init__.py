"""Tell how tasks ended, to those who asked: through a topic, and to Step Functions."""
