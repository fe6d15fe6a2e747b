"""What the tests of packing samples share: small images, and objects that hold them as libraries
do."""

from typing import Any

import numpy as np

CLASSES = [f"class {number}" for number in range(10)]


def cifar_like(n: int = 60) -> tuple[Any, Any]:
    """Images of 32 by 32 and their labels."""
    rng = np.random.default_rng(7)
    # Blocks of one color: noise would hide what encoding changes.
    blocks = rng.integers(0, 256, (n, 4, 4, 3), dtype=np.uint8)
    images = blocks.repeat(8, axis=1).repeat(8, axis=2)
    return images, rng.integers(0, len(CLASSES), n)


class TorchLike:
    """A dataset as torchvision's are: a length, and pairs by position."""

    def __init__(self, images: Any, labels: Any) -> None:
        self.images, self.labels = images, labels
        self.classes: list[str] | None = None

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.images[index], int(self.labels[index])


class ClassLabel:
    """A feature as Hugging Face has it."""

    def __init__(self, names: list[str]) -> None:
        self.names = names


class Value:
    def __init__(self, dtype: str) -> None:
        self.dtype = dtype


class Image:
    def __init__(self, decode: bool = True) -> None:
        self.decode = decode


class HuggingFaceLike:
    """A dataset as Hugging Face's are: features, rows of plain objects, casts of columns."""

    def __init__(self, rows: list[dict[str, Any]], features: dict[str, Any]) -> None:
        self.rows, self.features = rows, features

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = dict(self.rows[index])
        for name, feature in self.features.items():
            if isinstance(feature, Image) and feature.decode:
                row[name] = object()
        return row

    def with_format(self, kind: str | None) -> "HuggingFaceLike":
        assert kind is None
        return self

    def cast_column(self, name: str, feature: Any) -> "HuggingFaceLike":
        return HuggingFaceLike(self.rows, self.features | {name: feature})
