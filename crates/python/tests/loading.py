"""What the tests of the loader share: loaders of small batches, and what comes out of them."""

from typing import Any

import fdconvert
from fdconvert import Loader

Row = tuple[int, int, bytes]


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
    plain: dict[str, Any] = {"seed": 7, "threads": 2, "size": 32, "output": "numpy"}
    return Loader(path, batch_size, **plain | options)
