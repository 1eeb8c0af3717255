"""How fast the processor is, beside a bare loop of the same conditional writes."""
