"""No thread of the local cloud ends unseen."""

import ast
import socket
import struct
import threading
from pathlib import Path
from unittest.mock import Mock

import lifoq_localcloud
from lifoq_localcloud.basics import threads
from lifoq_localcloud.functions.runtime_api import RuntimeApi


def test_a_loop_that_fails_says_so_and_goes_on(monkeypatch, caplog):
    monkeypatch.setattr(threads, "AFTER_FAULT_SECONDS", 0.0)
    ended, gone_on = threading.Event(), threading.Event()
    rounds = iter([ValueError("poison"), None])

    def work() -> None:
        if fault := next(rounds):
            raise fault
        gone_on.set()

    threads.start("the mapping", work, ended)
    assert gone_on.wait(300)
    assert "the mapping failed: ValueError: poison" in caplog.text
    assert "raise fault" in caplog.text  # where it failed


def test_what_fails_at_the_end_because_of_it_is_not_told(caplog):
    ended = threading.Event()
    ended.set()
    assert not threads.attempt("the mapping", lambda: 1 / 0, ended)
    assert threads.attempt("the mapping", lambda: None, ended)
    assert caplog.text == ""


def test_every_thread_has_the_guard():
    folder = Path(lifoq_localcloud.__file__).parent
    unguarded = {
        file.name
        for file in folder.rglob("*.py")
        if "Thread" in (text := file.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Thread")
    }
    # The second is what a function's own process runs.
    assert unguarded == {"threads.py", "bootstrap.py"}


def test_a_function_that_is_gone_before_its_answer_is_not_told(monkeypatch, capfd, caplog):
    api, over = RuntimeApi(Mock()), threading.Event()
    monkeypatch.setattr(api._server, "shutdown_request", lambda _: over.set())
    place, _, secret = api.address.partition("/")
    host, port = place.split(":")
    with socket.create_connection((host, int(port))) as client:
        head = f"POST /{secret}/2018-06-01/runtime/init/error HTTP/1.1\r\nHost: {host}"
        client.sendall(f"{head}\r\nContent-Length: 9\r\n\r\n1".encode())
        # Closed so, as a killed process's connection is, it is reset.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert over.wait(300)
    api.close()
    assert (capfd.readouterr().err, caplog.text) == ("", "")
