"""What a function's process runs: AWS's own runtime client on the unpacked asset, and nothing else.

Started as ``python -I -S bootstrap.py NAME HANDLER ASSET IMPORTS…``, so that neither the project's
tree nor its virtual environment is importable, only what lies in the folders IMPORTS. These hold
what the asset requires, installed for this machine, the asset itself, and what stands for Lambda's
own runtime (boto3 and awslambdaric).
"""

import os
import signal
import sys
import threading


def end_with_parent() -> None:
    """Standard input is a pipe that the local cloud holds open; it ends when the cloud does."""
    while os.read(sys.stdin.fileno(), 1024):  # no lock of Python's: it would be held at its exit
        pass
    os.killpg(os.getpid(), signal.SIGKILL)


def main() -> None:
    _, _name, handler, asset, *imports = sys.argv
    threading.Thread(target=end_with_parent, daemon=True).start()
    sys.path[:0] = imports
    os.chdir(asset)
    from awslambdaric.__main__ import main as serve  # noqa: PLC0415 - importable only from here on

    serve(["awslambdaric", handler])


if __name__ == "__main__":
    main()
