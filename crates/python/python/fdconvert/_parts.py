"""Datasets of a loader, with their weights and splits."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from fdconvert._errors import UsageError
from fdconvert._fdconvert import Dataset
from fdconvert._paths import StrPath, absolute

Split: TypeAlias = str | Sequence[str]
"""The name of a split, several names, or ``"all"``."""

Source: TypeAlias = StrPath | Dataset
"""A path, or a dataset with the samples to load."""

Part: TypeAlias = Source | tuple[Source, float] | tuple[Source, float, Split | None]
"""A dataset, optionally with a weight (how often each sample comes in an epoch) and its split."""


def parts_of(
    path: Source | Iterable[Part], split: Split | None
) -> list[tuple[str | Dataset, float, Split | None]]:
    """Return each dataset, or its absolute path, with its weight and its split."""
    if isinstance(path, (set, frozenset, dict)):
        what = f'a {type(path).__name__} has no order; write ["a.beton", ("b.beton", 0.5)]'
        raise TypeError(f"path: {what}")
    parts = [path] if isinstance(path, (str, os.PathLike, Dataset)) else list(path)
    # Another process may run in another folder.
    return [_weighted(part, split) for part in parts]


def _weighted(part: Any, split: Split | None) -> tuple[str | Dataset, float, Split | None]:
    if isinstance(part, (str, os.PathLike, Dataset)):
        return _part(part, 1.0, split)
    match part:
        case ((str() | os.PathLike() | Dataset()) as path, weight, *own) if len(own) <= 1:
            try:
                weight = float(weight)
            except (TypeError, ValueError):
                raise TypeError(f"path: the weight of {path} is {weight!r}, not a number") from None
            return _part(path, weight, own[0] if own else split)
    what = 'is neither a path nor a path with its weight; write ["a.beton", ("b.beton", 0.5)]'
    raise TypeError(f"path: {part!r} {what}")


def _part(
    path: Source, weight: float, split: Split | None
) -> tuple[str | Dataset, float, Split | None]:
    if not isinstance(path, Dataset):
        return absolute(path), weight, split
    if split is not None:
        raise UsageError(f"split: choose it by dataset.split({split!r}), for {path!r}")
    return path, weight, None
