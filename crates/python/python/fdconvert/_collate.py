"""Collation of ``Dataset``'s arrays by torch's ``DataLoader``. Imports torch only when called."""

import sys
from collections.abc import Sequence
from typing import Any

from fdconvert._fdconvert import Array


def register() -> None:
    """Register ``collate`` with torch's ``default_collate``, if torch is loaded."""
    module = sys.modules.get("torch.utils.data._utils.collate")
    known = getattr(module, "default_collate_fn_map", None)
    if known is not None:
        known.setdefault(Array, collate)


def collate(batch: Sequence[Array], *, collate_fn_map: Any = None) -> Any:
    """Stack arrays of the same shape as a tensor.

    Raises ``TypeError`` for arrays of different shapes.
    """
    shapes = sorted({array.shape for array in batch})
    if len(shapes) > 1:
        what = (
            f"arrays of different shapes do not fit into one tensor: {shapes[0]} and {shapes[-1]}. "
            "Give Dataset a `transform` that resizes images (it gets the sample as a dictionary), "
            "or DataLoader a `collate_fn` such as `lambda samples: samples`, or use "
            "fdconvert.TorchIterable, which crops and resizes"
        )
        raise TypeError(what)
    import torch

    # Torch does not declare `from_dlpack` as exported.
    undeclared: Any = torch
    return torch.stack([undeclared.from_dlpack(array) for array in batch])
