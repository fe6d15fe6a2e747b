"""Datasets of a loader, with their weights and splits."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from fdconvert._paths import StrPath, absolute

Split: TypeAlias = str | Sequence[str]
"""The name of a split, several names, or ``"all"``."""

Part: TypeAlias = StrPath | tuple[StrPath, float] | tuple[StrPath, float, Split | None]
"""A dataset, optionally with a weight (how often each sample comes in an epoch) and its split."""


def parts_of(
    path: StrPath | Iterable[Part], split: Split | None
) -> list[tuple[str, float, Split | None]]:
    """Return the absolute path of each dataset, with its weight and its split."""
    if isinstance(path, (set, frozenset, dict)):
        what = f'a {type(path).__name__} has no order; write ["a.beton", ("b.beton", 0.5)]'
        raise TypeError(f"path: {what}")
    parts = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    # Another process may run in another folder.
    return [_weighted(part, split) for part in parts]


def _weighted(part: Any, split: Split | None) -> tuple[str, float, Split | None]:
    if isinstance(part, (str, os.PathLike)):
        return absolute(part), 1.0, split
    match part:
        case ((str() | os.PathLike()) as path, weight, *own) if len(own) <= 1:
            try:
                return absolute(path), float(weight), own[0] if own else split
            except (TypeError, ValueError):
                raise TypeError(f"path: the weight of {path} is {weight!r}, not a number") from None
    what = 'is neither a path nor a path with its weight; write ["a.beton", ("b.beton", 0.5)]'
    raise TypeError(f"path: {part!r} {what}")
