"""The program of a function's process: AWS's own runtime client on the unpacked asset, and nothing
else.

Started as ``python -I -S bootstrap.py NAME HANDLER ASSET IMPORTS…``. Neither the project's tree nor
its virtual environment is importable, only the contents of the folders IMPORTS: the asset's
requirements, installed for this machine, the asset itself, and boto3 and awslambdaric in place of
Lambda's own runtime.
"""

import os
import sys
import threading
from typing import Any


def end_with_parent() -> None:
    """Standard input is a pipe that the local cloud holds open; it ends when the cloud does."""
    mark = b"AWS_LAMBDA_RUNTIME_API=" + os.environb[b"AWS_LAMBDA_RUNTIME_API"]
    while os.read(sys.stdin.fileno(), 1024):  # no lock of Python's: it would be held at its exit
        pass
    beside("processes.py")["end"](os.getpid(), mark)


def beside(name: str) -> dict[str, Any]:
    """Return what a file of this folder defines: its package cannot be imported here."""
    import runpy  # noqa: PLC0415 - a start need not wait for it

    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow
    return runpy.run_path(os.path.join(here, name))  # noqa: PTH118


def reach_by_secret(runtime: Any) -> None:
    """Let AWS's client reach an address of the form HOST:PORT/SECRET with all that it has to say.
    It tells an error of initialisation in another way than anything else, and takes HOST:PORT."""

    class Client(runtime.LambdaRuntimeClient):  # type: ignore[misc] # known at run time only
        def __init__(self, address: str, *more: Any) -> None:
            address, _, self._secret = address.partition("/")
            super().__init__(address, *more)

        def call_rapid(self, method: str, endpoint: str, *more: Any, **named: Any) -> None:
            super().call_rapid(method, f"/{self._secret}{endpoint}", *more, **named)

    runtime.LambdaRuntimeClient = Client


def main() -> None:
    _, _name, handler, asset, *imports = sys.argv
    threading.Thread(target=end_with_parent, daemon=True).start()
    sys.path[:0] = imports
    os.chdir(asset)
    printed = beside("printed.py")["Printed"]
    sys.stdout, sys.stderr = printed(sys.stdout), printed(sys.stderr)
    from awslambdaric import __main__ as runtime  # noqa: PLC0415 - importable only from here on

    reach_by_secret(runtime)
    runtime.main(["awslambdaric", handler])


if __name__ == "__main__":
    main()
