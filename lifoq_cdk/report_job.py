"""The Spark job's entry point: its named arguments become the report's command line.

Glue adds arguments of its own, which are none of the report's business, and takes any exit by
``SystemExit`` for a failure, a status of 0 included.
"""

import argparse
import runpy
import sys


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--exports", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--slots", required=True)
    parser.add_argument("--about", required=True)
    options, _ = parser.parse_known_args()
    sys.argv = [
        *("lifoq_analytics.report", options.exports),
        *("--out", options.out),
        *("--slots", options.slots),
        *("--about", options.about),
    ]
    try:
        runpy.run_module("lifoq_analytics.report", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    main()
