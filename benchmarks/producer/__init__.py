"""How fast producers put tasks, beside the bare writes that it takes."""
