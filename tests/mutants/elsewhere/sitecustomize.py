"""Python loads this when it starts, in a process that a test started: its code tells, too."""

import os
import sys
from pathlib import Path

CODE = str(Path(__file__).parents[3])

sys.path.insert(0, CODE)
from tests.mutants import telling  # noqa: E402 - it is found from here on

sys.path.remove(CODE)
telling.begin()
telling.write_into(Path(os.environ["RAN_INTO"]))
