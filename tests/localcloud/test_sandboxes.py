"""The local cloud's folder does not grow with each change of the code."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from localcloud.credentials import Credentials
from localcloud.function import FunctionConfig
from localcloud.pool import Pool
from localcloud.sandboxes import Sandboxes
from tests.localcloud.harness import eventually, zipped

UNTIL_A_FILE_IS_THERE = """
import os, time
def handle(path, _context):
    while not os.path.exists(path):
        time.sleep(0.01)
"""
CONFIG = FunctionConfig(
    name="waiter",
    arn="arn:aws:lambda:local-1:0:function:waiter",
    handler="waiter.handle",
    runtime="python3.14",
    code_digest="one",
    environment={},
    timeout_seconds=60,
    memory_megabytes=128,
    reserved_concurrency=None,
    logging={},
)


def test_code_that_was_replaced_is_deleted_once_nothing_runs_it(tmp_path):
    cloud, file = tmp_path / "cloud", tmp_path / "file"
    sandboxes = Sandboxes(
        directory=cloud,
        credentials=Credentials(endpoint="http://localhost:1"),
        code=lambda _: zipped({"waiter.py": UNTIL_A_FILE_IS_THERE}),
        on_output=lambda _: None,
    )
    pool = Pool(CONFIG, sandboxes)

    def unpacked() -> list[str]:
        sandboxes.keep(pool.digests)
        return [folder.name for folder in (cloud / "assets").glob("*")]

    with ThreadPoolExecutor() as callers:
        running = callers.submit(pool.invoke, f'"{file}"'.encode())
        try:
            eventually(pool.processes)
            pool.replace(replace(CONFIG, code_digest="two"))
            assert unpacked() == ["one"]
        finally:
            file.touch()
        assert running.result().failed is False
    assert unpacked() == []

    assert pool.invoke(f'"{file}"'.encode()).failed is False
    assert unpacked() == ["two"]
    pool.close()
