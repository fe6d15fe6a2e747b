"""Transforms that change the levels of pixels in their place."""

from __future__ import annotations

from typing import Any, Literal

from fdconvert.transforms._arguments import (
    Fill,
    Range,
    Size,
    Transform,
    factor_of,
    fill_of,
    pair_of,
    size_of,
    wrong,
)

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue, in random order."""

    def __init__(
        self,
        brightness: float | Range | None = None,
        contrast: float | Range | None = None,
        saturation: float | Range | None = None,
        hue: float | Range | None = None,
    ) -> None:
        turn = None
        if hue is not None:
            turn = [-abs(hue), abs(hue)] if isinstance(hue, (int, float)) else pair_of("hue", hue)
            turn = None if turn == [0.0, 0.0] else [float(number) for number in turn]
        super().__init__(
            brightness=factor_of("brightness", brightness),
            contrast=factor_of("contrast", contrast),
            saturation=factor_of("saturation", saturation),
            hue=turn,
        )


class Grayscale(Transform):
    """Make the image gray; it keeps three equal channels."""

    def __init__(self, num_output_channels: int = 3) -> None:
        if num_output_channels != 3:
            raise wrong(
                "num_output_channels", "rows have three channels; take one of them in the loop"
            )
        super().__init__()


class RandomGrayscale(Transform):
    """Make the image gray, sometimes."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p=p)


class GaussianBlur(Transform):
    """Blur, with a kernel of odd sides and a standard deviation in pixels."""

    def __init__(self, kernel_size: Size, sigma: float | Range = (0.1, 2.0)) -> None:
        width_and_height = size_of(kernel_size)
        deviation = [float(sigma)] * 2 if isinstance(sigma, (int, float)) else pair_of("sigma", sigma)
        super().__init__(kernel_size=width_and_height, sigma=deviation)


class RandomInvert(Transform):
    """Invert the levels."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p=p)


class RandomPosterize(Transform):
    """Keep ``bits`` of each level."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(bits=bits, p=p)


class RandomSolarize(Transform):
    """Invert the levels from ``threshold`` on."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(threshold=float(threshold), p=p)


class RandomAdjustSharpness(Transform):
    """Sharpen, or blur with a factor below 1."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(sharpness_factor=float(sharpness_factor), p=p)


class RandomAutocontrast(Transform):
    """Stretch the levels of each channel to 0 to 255."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p=p)


class RandomEqualize(Transform):
    """Even out the histogram of each channel."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p=p)


class RandomErasing(Transform):
    """Erase a rectangle: ``value`` is a level, a colour, or ``"random"`` for normal noise.

    Random pixels have the mean and the deviation of ImageNet's, so that they are those of timm's
    ``mode="pixel"`` once normalised.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Range = (0.02, 0.33),
        ratio: Range = (0.3, 3.3),
        value: Fill | Literal["random"] = 0,
    ) -> None:
        contents: dict[str, Any]
        if isinstance(value, str):
            if value != "random":
                raise wrong("value", f'{value!r} is neither levels nor "random"')
            mean = [255 * level for level in IMAGENET_MEAN]
            contents = {"pixels": {"mean": mean, "std": [255 * level for level in IMAGENET_STD]}}
        else:
            contents = {"constant": fill_of(value)}
        super().__init__(
            p=p, scale=pair_of("scale", scale), ratio=pair_of("ratio", ratio), value=contents
        )
