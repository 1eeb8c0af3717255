"""``lifoq``, the command, which the extra ``cli`` brings: ``python -m lifoq_cli --help``."""

import importlib
import sys


def main() -> int:
    """Run the command. Return its exit status."""
    try:
        app = importlib.import_module("lifoq_cli.app")
    except KeyboardInterrupt:  # it takes half a second
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("click", "rich"):
            raise
        print(  # noqa: T201 - a command's message
            "the command needs click and rich: pip install 'lifoq[cli]'", file=sys.stderr
        )
        return 1
    status: int = app.main()
    return status


if __name__ == "__main__":
    sys.exit(main())
