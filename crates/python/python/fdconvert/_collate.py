"""How torch's ``DataLoader`` makes batches of what ``Dataset`` returns. Imports nothing of torch."""

import sys
from collections.abc import Sequence
from typing import Any

from fdconvert._fdconvert import Array


def register() -> None:
    """Tell torch's ``default_collate`` what to do with arrays, where torch is loaded."""
    module = sys.modules.get("torch.utils.data._utils.collate")
    known = getattr(module, "default_collate_fn_map", None)
    if known is not None:
        known.setdefault(Array, collate)


def collate(batch: Sequence[Array], *, collate_fn_map: Any = None) -> Any:
    """Stack arrays of one size as a tensor; a ``TypeError`` that says what to do about others."""
    shapes = sorted({array.shape for array in batch})
    if len(shapes) > 1:
        what = (
            f"arrays of different shapes do not fit into one tensor: {shapes[0]} and {shapes[-1]}. "
            "Give Dataset a `transform` that resizes images (it gets the sample as a dictionary), "
            "or DataLoader a `collate_fn` such as `lambda samples: samples`, or take "
            "fdconvert.TorchIterable, which crops and resizes by itself"
        )
        raise TypeError(what)
    import torch

    # What torch has, and does not declare as exported.
    undeclared: Any = torch
    return torch.stack([undeclared.from_dlpack(array) for array in batch])
