"""The command ``lifoq``: a queue seen and steered from a shell."""
