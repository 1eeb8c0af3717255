"""The complete examples of the documents, as they are written there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.constructs.application import HERE

PAGES = ("constructs.md", "long-tasks.md")
EXAMPLES = [
    example
    for page in PAGES
    for example in re.findall(
        r'```python title="app\.py"\n(.*?)```',
        (HERE.parents[1] / "docs" / page).read_text(),
        flags=re.DOTALL,
    )
]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_a_complete_example_can_be_synthesized(tmp_path: Path, number: int) -> None:
    (tmp_path / "app.py").write_text(EXAMPLES[number])
    shutil.copytree(HERE / "thumbnails", tmp_path / "tasks")
    shutil.copytree(HERE / "producer", tmp_path / "uploads")

    finished = subprocess.run(
        [sys.executable, "app.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(HERE.parents[1]),
            "CDK_OUTDIR": str(tmp_path / "cdk.out"),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert list((tmp_path / "cdk.out").glob("*.template.json"))
