"""Transforms that move pixels; masks and objects follow them."""

from __future__ import annotations

from typing import Literal

from fdconvert.transforms._arguments import (
    Fill,
    Range,
    Size,
    Transform,
    angle_of,
    bilinear,
    fill_of,
    padding_of,
    pair_of,
    plain,
    sequence,
    size_of,
)


class Resize(Transform):
    """Resize; one number is the short side, and ``max_size`` limits the long one."""

    def __init__(
        self,
        size: Size,
        interpolation: Literal["nearest", "bilinear"] = "bilinear",
        max_size: int | None = None,
        antialias: bool = True,
    ) -> None:
        if plain(interpolation) != "nearest":
            bilinear("Resize", interpolation, antialias)
        sides = sequence("size", size)
        to = int(sides[0]) if len(sides) == 1 else size_of(size)
        super().__init__(size=to, max_size=max_size, interpolation=interpolation)


class CenterCrop(Transform):
    """Cut out the middle; a smaller image gets black around it."""

    def __init__(self, size: Size) -> None:
        super().__init__(size=size_of(size))


class RandomCrop(Transform):
    """Cut out a part at a random place."""

    def __init__(
        self,
        size: Size,
        padding: Size | None = None,
        pad_if_needed: bool = False,
        fill: Fill = 0,
        padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    ) -> None:
        super().__init__(
            size=size_of(size),
            padding=None if padding is None else padding_of(padding),
            pad_if_needed=pad_if_needed,
            fill=fill_of(fill),
            padding_mode=padding_mode,
        )


class RandomResizedCrop(Transform):
    """Cut out a part of a random ``scale`` of the area and ``ratio`` of the sides, and resize it."""

    def __init__(
        self,
        size: Size,
        scale: Range = (0.08, 1.0),
        ratio: Range = (3 / 4, 4 / 3),
        interpolation: Literal["bilinear"] = "bilinear",
        antialias: bool = True,
    ) -> None:
        bilinear("RandomResizedCrop", interpolation, antialias)
        super().__init__(
            size=size_of(size), scale=pair_of("scale", scale), ratio=pair_of("ratio", ratio)
        )


class ScaleJitter(Transform):
    """Resize so that the image fits ``target_size`` times a random factor."""

    def __init__(self, target_size: Size, scale_range: Range = (0.1, 2.0)) -> None:
        super().__init__(
            target_size=size_of(target_size), scale_range=pair_of("scale_range", scale_range)
        )


class Letterbox(Transform):
    """Fit the whole image into ``size``, in the middle, with ``fill`` around it."""

    def __init__(self, size: Size, fill: Fill = 0) -> None:
        super().__init__(size=size_of(size), fill=fill_of(fill))


class Cover(Transform):
    """Resize so that the image covers ``size``, and cut out the middle, or ``random``: any part."""

    def __init__(self, size: Size, random: bool = False) -> None:
        super().__init__(size=size_of(size), random=random)


class Pad(Transform):
    """Add rows and columns: on all sides, left/right and top/bottom, or left, top, right, bottom."""

    def __init__(
        self,
        padding: Size,
        fill: Fill = 0,
        padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    ) -> None:
        super().__init__(padding=padding_of(padding), fill=fill_of(fill), padding_mode=padding_mode)


class RandomHorizontalFlip(Transform):
    """Exchange left and right."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p=p)


class RandomVerticalFlip(Transform):
    """Exchange top and bottom."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p=p)


class RandomRotation(Transform):
    """Rotate counter-clockwise, by up to ``degrees`` to either side or within a range."""

    def __init__(
        self,
        degrees: float | Range,
        interpolation: Literal["nearest", "bilinear"] = "nearest",
        expand: bool = False,
        center: Range | None = None,
        fill: Fill = 0,
    ) -> None:
        super().__init__(
            degrees=angle_of("degrees", degrees),
            interpolation=interpolation,
            expand=expand,
            center=None if center is None else pair_of("center", center),
            fill=fill_of(fill),
        )


class RandomAffine(Transform):
    """Rotate, shift by shares of the sides, scale, and shear by degrees."""

    def __init__(
        self,
        degrees: float | Range,
        translate: Range | None = None,
        scale: Range | None = None,
        shear: float | Range | None = None,
        interpolation: Literal["nearest", "bilinear"] = "nearest",
        fill: Fill = 0,
        center: Range | None = None,
    ) -> None:
        angles = None if shear is None else angle_of("shear", shear)
        if angles is not None and len(angles) == 2:
            angles += [0.0, 0.0]
        super().__init__(
            degrees=angle_of("degrees", degrees),
            translate=None if translate is None else pair_of("translate", translate),
            scale=None if scale is None else pair_of("scale", scale),
            shear=angles,
            interpolation=interpolation,
            fill=fill_of(fill),
            center=None if center is None else pair_of("center", center),
        )


class RandomPerspective(Transform):
    """Move the corners inwards by up to ``distortion_scale`` of half the image."""

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Literal["nearest", "bilinear"] = "bilinear",
        fill: Fill = 0,
    ) -> None:
        super().__init__(
            distortion_scale=distortion_scale, p=p, interpolation=interpolation, fill=fill_of(fill)
        )
