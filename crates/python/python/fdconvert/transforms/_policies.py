"""Automatic augmentations."""

from __future__ import annotations

from typing import Literal

from fdconvert.transforms._arguments import Fill, Transform, fill_of


class AutoAugment(Transform):
    """Apply one of 25 learned pairs of changes."""

    def __init__(
        self,
        policy: Literal["imagenet", "cifar10", "svhn"] = "imagenet",
        interpolation: Literal["nearest", "bilinear"] = "nearest",
        fill: Fill | None = None,
    ) -> None:
        super().__init__(policy=policy, interpolation=interpolation, fill=fill_of(fill))


class RandAugment(Transform):
    """Apply ``num_ops`` changes of one strength."""

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Literal["nearest", "bilinear"] = "nearest",
        fill: Fill | None = None,
    ) -> None:
        super().__init__(
            num_ops=num_ops,
            magnitude=magnitude,
            num_magnitude_bins=num_magnitude_bins,
            interpolation=interpolation,
            fill=fill_of(fill),
        )


class TrivialAugmentWide(Transform):
    """Apply one change of any strength."""

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: Literal["nearest", "bilinear"] = "nearest",
        fill: Fill | None = None,
    ) -> None:
        super().__init__(
            num_magnitude_bins=num_magnitude_bins, interpolation=interpolation, fill=fill_of(fill)
        )


class AugMix(Transform):
    """Mix the image with chains of changes of it."""

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Literal["nearest", "bilinear"] = "bilinear",
        fill: Fill | None = None,
    ) -> None:
        super().__init__(
            severity=severity,
            mixture_width=mixture_width,
            chain_depth=chain_depth,
            alpha=alpha,
            all_ops=all_ops,
            interpolation=interpolation,
            fill=fill_of(fill),
        )
