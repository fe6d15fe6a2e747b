"""``python -m fdconvert``: the command, with its arguments and exit status."""

import os
import sys

from fdconvert import _fdconvert


def main() -> int:
    """Run the command with the arguments of this process and return its exit status."""
    # What the command starts in Python (--engine ray) has the packages that are here.
    os.environ.setdefault("FDCONVERT_PYTHON", sys.executable)
    return _fdconvert.main(["fdconvert", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
