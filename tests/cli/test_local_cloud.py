"""A second terminal finds the local cloud of its folder."""

import os
import re
import socket
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from lab.ports import held_port
from lifoq import InvalidInput, Queue, QueueMisconfigured
from lifoq.client import local_cloud
from lifoq.client.local_cloud import SAY_WHICH_AWS
from lifoq_cli.session import Session


@pytest.fixture
def endpoint(tmp_path, monkeypatch) -> Iterator[str]:
    """A local cloud's, which runs in a folder above this process's."""
    for name in SAY_WHICH_AWS:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".local").mkdir()
    (tmp_path / "tasks").mkdir()
    monkeypatch.chdir(tmp_path / "tasks")
    with patch.dict(os.environ), socket.create_server(("127.0.0.1", 0)) as listener:
        found = f"http://localhost:{listener.getsockname()[1]}"
        lines = f"export AWS_ENDPOINT_URL={found}\nexport AWS_REGION=local-1\n"
        (tmp_path / ".local" / "environment").write_text(lines)
        yield found


def test_the_local_cloud_of_the_folder_is_found_and_told(endpoint, capsys):
    assert Session().client_arguments == {"region_name": "local-1"}
    assert os.environ["AWS_ENDPOINT_URL"] == endpoint
    assert capsys.readouterr().err == f"(in the local cloud of this folder, {endpoint})\n"


@pytest.mark.parametrize("port", ["the same", "another"])
def test_one_that_was_started_anew_is_found_again(tmp_path, endpoint, port):
    assert Session().client_arguments == {"region_name": "local-1"}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        moved = f"http://localhost:{listener.getsockname()[1]}"
        now = endpoint if port == "the same" else moved
        lines = f"export AWS_ENDPOINT_URL={now}\nexport AWS_ACCESS_KEY_ID=new\n"
        (tmp_path / ".local" / "environment").write_text(lines)
        local_cloud.enter_again()
    assert (os.environ["AWS_ENDPOINT_URL"], os.environ["AWS_ACCESS_KEY_ID"]) == (now, "new")


def test_whoever_works_elsewhere_stays_there(endpoint, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://elsewhere.example")
    local_cloud.enter_again()
    assert os.environ["AWS_ENDPOINT_URL"] == "https://elsewhere.example"
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    local_cloud.enter_again()
    assert "AWS_ENDPOINT_URL" not in os.environ


def test_who_names_credentials_means_them(endpoint, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "prod")
    assert endpoint not in Session().client_arguments.values()
    assert "AWS_ENDPOINT_URL" not in os.environ


def test_one_that_has_ended_is_not_meant_but_told_of(tmp_path, endpoint, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with held_port() as port:
        gone = f"export AWS_ENDPOINT_URL=http://127.0.0.1:{port}\n"
        (tmp_path / ".local" / "environment").write_text(gone)
        assert endpoint not in Session().client_arguments.values()
        assert "AWS_ENDPOINT_URL" not in os.environ
        with pytest.raises(QueueMisconfigured, match=r"does not run: start it by lifoq dev$"):
            Queue.connect("devices")


def test_one_that_somebody_else_has_set_up_is_not_meant(endpoint, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: -1)
    assert endpoint not in Session().client_arguments.values()
    assert "AWS_ENDPOINT_URL" not in os.environ


def test_code_of_ones_own_is_told_of_the_file_that_leads_there(endpoint, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "LIFOQ_QUEUE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    remedy = r"for the local cloud of this folder, first run: \. \.\./\.local/environment$"
    with pytest.raises(InvalidInput, match=remedy):
        Queue.connect()
    with pytest.raises(QueueMisconfigured, match=remedy):
        Queue.connect("devices")
    with pytest.raises(QueueMisconfigured) as elsewhere:
        Queue.connect("devices", endpoint_url="https://example.com")
    assert not re.search(r"\.local|None", str(elsewhere.value))
