"""The signal that the end of an attempt gives of the downstream's load."""

from enum import Enum, auto


class LoadSignal(Enum):
    """The three ways to read an attempt's end, for ``CapacitySearch``."""

    DONE = auto()
    """The attempt succeeded: its time tells how busy the downstream is."""
    OVERLOADED = auto()
    """The attempt took longer than its timeout."""
    UNTOLD = auto()
    """The attempt tells nothing of the load: it failed in another way, perhaps at once, or was
    refused. The gate ``busy_downstream`` counts those."""
