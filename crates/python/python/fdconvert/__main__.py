"""``python -m fdconvert``: the command, with its arguments and exit status."""

import sys

from fdconvert import _fdconvert


def main() -> int:
    """Run the command with the arguments of this process and return its exit status."""
    return _fdconvert.main(["fdconvert", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
