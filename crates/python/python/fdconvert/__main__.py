"""Runs the command line: ``python -m fdconvert``."""

import os
import sys

from fdconvert import _fdconvert


def main() -> int:
    """Run the command with the arguments of this process and return its exit status."""
    # Python processes that the command starts (--engine ray) find the packages of this interpreter.
    os.environ.setdefault("FDCONVERT_PYTHON", sys.executable)
    return _fdconvert.main(["fdconvert", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
