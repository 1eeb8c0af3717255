"""How many tasks a second one queue takes."""
