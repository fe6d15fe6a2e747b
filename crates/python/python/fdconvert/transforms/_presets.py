"""Lists that many trainings use."""

from __future__ import annotations

from fdconvert.transforms._arguments import Fill, Range, Size, Transform
from fdconvert.transforms._colours import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    ColorJitter,
    GaussianBlur,
    RandomGrayscale,
    RandomSolarize,
)
from fdconvert.transforms._geometry import CenterCrop, Letterbox, RandomHorizontalFlip, RandomResizedCrop, Resize
from fdconvert.transforms._lists import Normalize, RandomApply, ToDtype, ToLayout


def default() -> list[Transform]:
    """The loader's list without ``transform``: ``Resize(256)`` and ``CenterCrop(224)``, as bytes."""
    return [Resize(256), CenterCrop(224)]


def imagenet_train(size: Size = 224) -> list[Transform]:
    """Random resized crop and flip, normalised, channels first."""
    return [RandomResizedCrop(size), RandomHorizontalFlip(), *_normalised()]


def imagenet_eval(size: int = 224) -> list[Transform]:
    """The middle of the image resized to 256 / 224 of ``size``, normalised, channels first."""
    return [Resize(round(size * 256 / 224)), CenterCrop(size), *_normalised()]


def _normalised() -> list[Transform]:
    return [Normalize(IMAGENET_MEAN, IMAGENET_STD), ToDtype("f32"), ToLayout("nchw")]


def _colours(jitter: ColorJitter, blur: float, solarize: float, kernel: int) -> list[Transform]:
    changes: list[Transform] = [
        RandomHorizontalFlip(),
        RandomApply([jitter], p=0.8),
        RandomGrayscale(0.2),
        RandomApply([GaussianBlur(kernel, (0.1, 2.0))], p=blur),
    ]
    return changes + ([RandomSolarize(128, p=solarize)] if solarize > 0 else [])


def simclr(size: int = 224, strength: float = 1.0) -> list[Transform]:
    """SimCLR's list: crop, flip, colours, gray and blur, normalised. Its two views differ in ``view``."""
    kernel = size // 10 | 1
    jitter = ColorJitter(0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength)
    crop = RandomResizedCrop(size)
    return [crop, *_colours(jitter, 0.5, 0.0, kernel), *_normalised()]


def dino(
    global_size: int = 224, local_size: int = 96, n_local: int = 8
) -> dict[str, tuple[int, list[Transform]]]:
    """DINO's views, each with how many there are: two of the whole, and ``n_local`` of parts."""

    def view(size: int, scale: Range, blur: float, solarize: float) -> list[Transform]:
        jitter = ColorJitter(0.4, 0.4, 0.2, 0.1)
        crop = RandomResizedCrop(size, scale)
        return [crop, *_colours(jitter, blur, solarize, 9), *_normalised()]

    return {
        "global": (1, view(global_size, (0.4, 1.0), 1.0, 0.0)),
        "global_solarized": (1, view(global_size, (0.4, 1.0), 0.1, 0.2)),
        "local": (n_local, view(local_size, (0.05, 0.4), 0.5, 0.0)),
    }


def detection(size: Size = 640, fill: Fill = 114) -> list[Transform]:
    """The whole image in a frame, flipped by chance."""
    return [RandomHorizontalFlip(), Letterbox(size, fill), ToDtype("f32"), ToLayout("nchw")]
