"""Options of the commands as keyword arguments."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | os.PathLike[str]
Option: TypeAlias = Scalar | Iterable[Scalar] | Mapping[str, Scalar] | None
"""``True`` sets a flag, ``None`` omits the option, a list repeats it, and a mapping gives
``NAME=VALUE`` for each of its items."""

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the number of finished samples and their total."""


def given(options: Mapping[str, Option]) -> dict[str, object]:
    """Return the options other than ``None`` in a form for JSON."""
    return {name: _plain(value) for name, value in options.items() if value is not None}


def _plain(value: Option) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (str, int, float)) or value is None:
        return value
    return [_plain(part) for part in value]
