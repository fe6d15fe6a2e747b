"""Options of the commands as keyword arguments."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | os.PathLike[str]
Option: TypeAlias = Scalar | Iterable[Scalar] | Mapping[str, Scalar] | None
"""``True`` gives a flag, ``None`` leaves an option out, a list repeats it, and a mapping gives
``NAME=VALUE`` for each of its items."""

Progress: TypeAlias = Callable[[int, int], object]
"""Called with how many samples are done and how many there are."""


def given(options: Mapping[str, Option]) -> dict[str, object]:
    """The options that say something, as JSON has them."""
    return {name: _plain(value) for name, value in options.items() if value is not None}


def _plain(value: Option) -> object:
    """The value as JSON has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (str, int, float)) or value is None:
        return value
    return [_plain(part) for part in value]
