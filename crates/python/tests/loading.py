"""What the tests of the loader share: loaders of small batches, and what comes out of them."""

from typing import Any

import fdconvert
from fdconvert import Loader
from fdconvert import transforms as T

Row = tuple[int, int, bytes]

SMALL: list[T.Transform] = [T.Resize(36), T.CenterCrop(32)]
"""The middle of an image, in rows of 32 by 32 bytes."""

CROPS: list[T.Transform] = [T.RandomResizedCrop(32), T.RandomHorizontalFlip()]
"""Random parts of an image, in such rows."""


def rows(loader: Loader) -> list[Row]:
    """One epoch: number, label and pixels of each row."""
    found = []
    for batch in loader.batches():
        for sample, label, image in zip(batch.samples, batch.labels, batch.images, strict=True):
            found.append((int(sample), int(label), image.tobytes()))
    return found


def rows_of(batch: fdconvert.Batch) -> list[Row]:
    return [
        (int(sample), int(label), image.tobytes())
        for sample, label, image in zip(batch.samples, batch.labels, batch.images, strict=True)
    ]


def small(path: Any, batch_size: int = 4, **options: Any) -> Loader:
    # Another test may have imported torch, whose tensors would be the default then.
    plain: dict[str, Any] = {"seed": 7, "threads": 2, "output": "numpy"}
    # The groups of views have lists of their own; rows without an image have none.
    if not isinstance(options.get("views"), dict):
        plain["transform"] = SMALL
    return Loader(path, batch_size, **plain | options)
