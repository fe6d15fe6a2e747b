"""Packs image datasets once so that training reads them fast.

``pack``, ``unpack``, ``inspect`` and ``verify`` are the commands of the same names, run in this
process. ``Dataset`` opens what was packed, or a folder of images, as a sequence. ``python -m
fdconvert`` is the command itself.
"""

from fdconvert._commands import inspect, pack, unpack, verify
from fdconvert._errors import DataError, Error, UsageError
from fdconvert._fdconvert import Array, Dataset, __version__

__all__ = [
    "Array",
    "DataError",
    "Dataset",
    "Error",
    "UsageError",
    "__version__",
    "inspect",
    "pack",
    "unpack",
    "verify",
]
