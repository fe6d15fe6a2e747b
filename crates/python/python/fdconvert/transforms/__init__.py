"""Transforms with the names, arguments and results of ``torchvision.transforms.v2``.

A list of them applies in order::

    from fdconvert import transforms as T

    train = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToDtype("f32"),
             T.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))]
    row = T.apply(train, fdconvert.decode(jpeg), seed=7, epoch=0, sample=3)

Cuts, resizes and flips that follow each other become one step. Random numbers depend on seed, epoch,
sample, view and the place in the list alone, so that a row can be made again. Results are those of
torchvision on ``uint8`` tensors: exactly where it computes with whole numbers or tables, and else
within one level.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from fdconvert import _fdconvert
from fdconvert._errors import UsageError
from fdconvert.transforms._arguments import Transform
from fdconvert.transforms._colours import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    ColorJitter,
    GaussianBlur,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from fdconvert.transforms._geometry import (
    CenterCrop,
    Cover,
    Letterbox,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    ScaleJitter,
)
from fdconvert.transforms._lists import (
    Bands,
    CutMix,
    Function,
    MixUp,
    Normalize,
    RandomApply,
    RandomChoice,
    RandomOrder,
    ToDtype,
    ToLayout,
    json_of,
)
from fdconvert.transforms._policies import AugMix, AutoAugment, RandAugment, TrivialAugmentWide
from fdconvert.transforms._presets import (
    default,
    detection,
    dino,
    imagenet_eval,
    imagenet_train,
    simclr,
)

__all__ = [
    "AugMix",
    "AutoAugment",
    "Bands",
    "CenterCrop",
    "Cover",
    "ColorJitter",
    "CutMix",
    "Function",
    "GaussianBlur",
    "Grayscale",
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "Letterbox",
    "MixUp",
    "Normalize",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "ScaleJitter",
    "ToDtype",
    "ToLayout",
    "Transform",
    "TrivialAugmentWide",
    "apply",
    "default",
    "detection",
    "dino",
    "draw",
    "imagenet_eval",
    "imagenet_train",
    "simclr",
]


def draw(
    transforms: Iterable[Transform],
    size: Sequence[int],
    *,
    seed: int = 0,
    epoch: int = 0,
    sample: int = 0,
    view: int = 0,
) -> list[Any]:
    """Return what a list does to an image of ``(height, width)``, with all numbers drawn.

    Each change has the name and the arguments of a functional form of torchvision's v2: ``[{"crop":
    {"top": 12, ...}}, {"resize": ...}, "horizontal_flip"]``.
    """
    height, width = size
    keys = (seed, epoch, sample, view)
    changes: list[Any] = json.loads(
        _fdconvert.draw_transforms(json_of(transforms), (width, height), keys)
    )
    return changes


def apply(
    transforms: Iterable[Transform],
    image: Any,
    *,
    seed: int = 0,
    epoch: int = 0,
    sample: int = 0,
    view: int = 0,
) -> Any:
    """Return what a list makes of one image, as an ``Array`` (``numpy.asarray`` of it copies nothing).

    ``image`` has height, width and three channels of 8 bits, as from ``decode`` or ``Dataset``: for
    looking at a list, and for tests.
    """
    pixels = memoryview(image)
    shape = pixels.shape or ()
    if len(shape) != 3 or shape[2] != 3 or pixels.format != "B":
        what = f"shape {shape}, type {pixels.format!r}; expected height, width, 3 of uint8"
        raise UsageError(f"image: {what}")
    keys = (seed, epoch, sample, view)
    return _fdconvert.apply_transforms(json_of(transforms), pixels, (shape[1], shape[0]), keys)
