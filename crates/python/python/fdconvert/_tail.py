"""Transforms of torchvision and others that run in Python, at the end of a list."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class Tail:
    """The end of a list of torchvision, for the rows of a batch."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], kind: str) -> None:
        self.transforms, self.kind = transforms, kind

    def __call__(self, rows: Iterable[Any], seeds: Sequence[int]) -> Any:
        import torch
        from torch.utils.data import default_collate

        made = []
        with _draws_apart() as seed_all:
            for row, seed in zip(rows, seeds, strict=True):
                seed_all(seed)
                image = self._image(row)
                for transform in self.transforms:
                    image = transform(image)
                made.append(image)
        # A rank may have no rows of the last batch.
        return default_collate(made) if made else torch.empty(0)

    def _image(self, row: Any) -> Any:
        if self.kind == "PIL":
            from PIL import Image

            return Image.fromarray(row.numpy())
        if self.kind == "Image":
            from torchvision.tv_tensors import Image as ImageTensor

            return ImageTensor(row)
        return row


def stacked(rows: Sequence[Any]) -> Any:
    import torch

    return torch.stack(list(rows)) if rows else torch.empty(0)


@contextmanager
def _draws_apart() -> Iterator[Callable[[int], None]]:
    """Seed what transforms draw by, with one thread of torch, and give all back as it was."""
    import torch

    numpy = sys.modules.get("numpy")
    states = random.getstate(), torch.get_rng_state(), numpy and numpy.random.get_state()
    # Torch's own threads would wait for those that decode, as they do in workers of DataLoader.
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def seed_all(seed: int) -> None:
        random.seed(seed)
        # Not torch.manual_seed, which seeds GPUs as well.
        torch.default_generator.manual_seed(seed)
        if numpy is not None:
            numpy.random.seed(seed & 0xFFFF_FFFF)

    try:
        yield seed_all
    finally:
        torch.set_num_threads(n_threads)
        random.setstate(states[0])
        torch.set_rng_state(states[1])
        if numpy is not None:
            numpy.random.set_state(states[2])
