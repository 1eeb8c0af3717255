"""Today's report goes on with the state that a release's report left; and the other way round,
since an upgrade may be taken back."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.releases.release import Release, differences, python, releases, unpacked
from tests.releases.report import exports

each_release = pytest.mark.parametrize("release", releases(), ids=lambda one: one.version)


@pytest.mark.prove
@each_release
def test_a_report_goes_on_with_the_state_that_a_release_left(release: Release, report, tmp_path):
    full, later = exports(release.samples, tmp_path / "exports")
    state = shutil.copytree(release.report_state, tmp_path / "state")

    assert report(later, state=str(state)) == report(full, later)


@pytest.mark.prove
@each_release
def test_a_release_goes_on_with_the_state_that_todays_report_left(
    release: Release, report, tmp_path
):
    full, later = exports(release.samples, tmp_path / "exports")
    state = tmp_path / "state"
    report(full, state=str(state))
    for file in (state / "intakes").iterdir():
        file.write_text(json.dumps(_with_later_fields(json.loads(file.read_text()))))

    found = _reported(unpacked(release.wheel, tmp_path / "wheel"), later, state)

    assert [*differences(found, report(full, later))] == []


def _with_later_fields(intake: dict[str, Any]) -> dict[str, Any]:
    stretches = [{**stretch, "later": 1} for stretch in intake["stretches"]]
    return {**intake, "stretches": stretches, "later": 1}


def _reported(packages: Path, exports_: Path, state: Path) -> Any:
    """Return the summary of a release's report."""
    options = (f"--out={state.parent / 'out-of-release'}", f"--state={state}", "--format=json")
    return json.loads(python(packages, "-m", "lifoq_analytics.report", exports_, *options))
