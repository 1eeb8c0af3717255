"""What ends of attempts tell."""

from enum import Enum, auto


class End(Enum):
    """What an attempt's end tells of the downstream's capacity."""

    DONE = auto()
    """Its time tells how busy the downstream is."""
    OVERLOADED = auto()
    """It took longer than its timeout."""
    UNTOLD = auto()
    """It failed in another way, perhaps at once, or was refused, which ``Room`` sees to."""
