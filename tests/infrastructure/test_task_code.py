"""A folder of task code with requirements of its own: what is locked, packaged and refused."""

import re
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from aws_cdk import aws_lambda as lambda_

from lifoq_cdk import TaskCode, with_lifoq
from lifoq_project import asset, requirements
from lifoq_project.requirements import Platform, RequirementsError
from tests.infrastructure.wheels import LAMBDA_ARM64, LAMBDA_X86_64, Registry

HERE = (
    f"cp{sys.version_info.major}{sys.version_info.minor}-"
    f"cp{sys.version_info.major}{sys.version_info.minor}-"
    + sysconfig.get_platform().replace("-", "_").replace(".", "_")
)


@pytest.fixture
def registry(tmp_path, monkeypatch) -> Registry:
    """In the place of the network, by uv's own settings; lifoq's own need is ``powertools``."""
    own, wheels = tmp_path / "own", tmp_path / "wheels"
    own.mkdir()
    wheels.mkdir()
    (tmp_path / "uv.toml").write_text(f'[[index]]\nurl = "{wheels.as_uri()}"\ndefault = true\n')
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("LIFOQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(requirements, "OWN", own)
    registry = Registry(wheels)
    registry.add("powertools", "1.0")
    (own / "requirements.txt").write_text("powertools\n")
    (own / "requirements.lock").write_text("")
    return registry


@pytest.fixture
def tasks(tmp_path) -> Path:
    folder = tmp_path / "project" / "thumbnails"
    (folder / "templates").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "templates" / "mail.txt").write_text("Dear …\n")
    return folder


def require(tasks: Path, *lines: str) -> Path:
    (tasks / "requirements.txt").write_text("".join(f"{line}\n" for line in lines))
    return tasks


def pins(lock: Path) -> Sequence[str]:
    return [line.split(" ")[0] for line in lock.read_text().splitlines() if line[0].isalpha()]


def text_of(package: asset.Asset, name: str) -> str:
    with zipfile.ZipFile(package.path) as archive:
        return archive.read(name).decode()


def test_the_folder_lies_in_the_package_by_its_own_name_with_all_its_files(tasks, registry):
    registry.add("fast", "1.0")

    package = asset.build(require(tasks, "fast"))

    names = set(zipfile.ZipFile(package.path).namelist())
    expected = {"thumbnails/__init__.py", "thumbnails/templates/mail.txt", "lifoq/client/queue.py"}
    assert expected | {"fast/__init__.py", "powertools/__init__.py"} <= names


arm64, x86_64 = lambda_.Architecture.ARM_64, lambda_.Architecture.X86_64


def test_wheels_are_for_lambdas_processor_and_the_lock_serves_this_machine_too(tasks, registry):
    for tag in (LAMBDA_ARM64, LAMBDA_X86_64, HERE):
        registry.add("fast", "1.0", tag)
    require(tasks, "fast")

    assert LAMBDA_ARM64 in text_of(asset.build(tasks), "fast/__init__.py")
    assert LAMBDA_X86_64 in text_of(asset.build(tasks, architecture="x86_64"), "fast/__init__.py")
    for name, architecture in ((LAMBDA_ARM64, arm64), (LAMBDA_X86_64, x86_64)):
        package = TaskCode(tasks, architecture=architecture).package()
        assert name in text_of(package, "fast/__init__.py")
        own = with_lifoq(tasks, architecture=architecture)
        assert own.path == str(package.path)
    here = requirements.installed(tasks / "requirements.lock", Platform.of_this_machine())
    assert HERE in (here / "fast" / "__init__.py").read_text()


def test_a_locked_version_stays_when_a_newer_one_appears(tasks, registry):
    registry.add("fast", "1.0")
    before = asset.build(require(tasks, "fast"))

    registry.add("fast", "2.0")
    assert asset.build(tasks).digest == before.digest
    registry.add("other", "1.0")
    asset.build(require(tasks, "fast", "other"))
    assert pins(tasks / "requirements.lock") == ["fast==1.0", "other==1.0", "powertools==1.0"]

    asset.build(require(tasks, "fast>1"))
    assert pins(tasks / "requirements.lock") == ["fast==2.0", "powertools==1.0"]


def test_a_change_in_an_included_file_is_noticed(tasks, registry):
    registry.add("fast", "1.0")
    (tasks / "more.txt").write_text("")
    asset.build(require(tasks, "-r more.txt"))

    (tasks / "more.txt").write_text("fast\n")

    asset.build(tasks)
    assert "fast==1.0" in pins(tasks / "requirements.lock")


def test_what_was_built_once_needs_no_registry(tasks, registry):
    registry.add("fast", "1.0", LAMBDA_ARM64)
    before = asset.build(require(tasks, "fast"))
    shutil.rmtree(registry.folder)

    (tasks / "__init__.py").write_text("# changed\n")

    assert asset.build(tasks).digest != before.digest


@pytest.mark.parametrize("tag", [LAMBDA_X86_64, "cp314-cp314-manylinux_2_39_aarch64"])
def test_what_has_no_wheel_for_lambda_is_refused_by_name_with_the_ways_out(tasks, registry, tag):
    registry.add("fast", "1.0", tag)

    reason = r"^fast, which .*has no wheel for Lambda's python3\.14 on arm64"
    with pytest.raises(RequirementsError, match=rf"(?s){reason}.*a layer.*a container image"):
        asset.build(require(tasks, "fast"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("source", r"source, which .* has no wheel for any platform"),
        ("absent", "absent was not found"),
    ],
)
def test_what_cannot_be_had_as_a_wheel_is_refused_and_leaves_no_lock(tasks, registry, name, reason):
    registry.add_source("source", "1.0")
    with pytest.raises(RequirementsError, match=reason):
        asset.build(require(tasks, name))
    assert not (tasks / "requirements.lock").exists()


def test_the_size_of_what_is_new_is_said_and_refused_beyond_lambdas_limit(tasks, registry, capsys):
    (tasks / "data.bin").write_bytes(b"\0" * 3 * 1024 * 1024)
    asset.build(tasks)
    assert re.match(
        r"Packaged thumbnails: 0\.\d MB, unzipped 4\.\d MB of the 250\.0 MB that fit\n",
        capsys.readouterr().err,
    )
    asset.build(tasks)
    assert capsys.readouterr().err == ""

    with (tasks / "data.bin").open("wb") as data:
        data.truncate(asset.UNZIPPED_LIMIT_BYTES)
    with pytest.raises(asset.AssetError, match=r"takes 250\.0 MB.*thumbnails 250\.0 MB"):
        asset.build(tasks)


@pytest.mark.parametrize("name", ["lifoq", "lifoq_functions", "fast"])
def test_a_folder_with_the_name_of_a_package_that_comes_along_is_refused(tasks, registry, name):
    registry.add("fast", "1.0")
    with pytest.raises(asset.AssetError, match=f"'{name}' has the name of a package|rename it"):
        asset.build(require(tasks.rename(tasks.with_name(name)), "fast"))
