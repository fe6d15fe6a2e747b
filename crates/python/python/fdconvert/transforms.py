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
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from . import _fdconvert
from ._errors import UsageError
from ._outputs import dtype_name

__all__ = [
    "AugMix",
    "AutoAugment",
    "CenterCrop",
    "ColorJitter",
    "CutMix",
    "Function",
    "GaussianBlur",
    "Grayscale",
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
    "detection",
    "dino",
    "draw",
    "imagenet_eval",
    "imagenet_train",
    "simclr",
]

Size = int | Sequence[int]
Range = Sequence[float]
Fill = int | Sequence[int]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Transform:
    """One transform of a list: its name and arguments, in ``spec``."""

    def __init__(self, **arguments: Any) -> None:
        for name, value in arguments.items():
            numbers = value if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(it, float) and not math.isfinite(it) for it in numbers):
                raise _wrong(type(self).__name__, f"{name}={value!r} is not finite")
        self._arguments = arguments

    @property
    def spec(self) -> dict[str, Any]:
        """The transform as the loader takes it, and as a checkpoint shows it."""
        return {type(self).__name__: self._arguments}

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._arguments.items())
        return f"{type(self).__name__}({arguments})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._arguments == getattr(other, "_arguments", None)

    __hash__ = None  # type: ignore[assignment]


def _wrong(name: str, what: str) -> UsageError:
    return UsageError(f"transform: {name}: {what}")


def _size(size: Size) -> list[int]:
    sides = [size, size] if isinstance(size, int) else list(size)
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2:
        raise _wrong("size", f"{size!r} is not one side, or height and width")
    return [int(side) for side in sides]


def _fill(fill: Fill | None) -> list[int]:
    levels = [fill or 0] * 3 if fill is None or isinstance(fill, int) else list(fill)
    if len(levels) == 1:
        levels *= 3
    if len(levels) != 3 or not all(0 <= level <= 255 for level in levels):
        raise _wrong("fill", f"{fill!r} is not one level, or red, green and blue, each 0 to 255")
    return [int(level) for level in levels]


def _padding(padding: Size) -> list[int]:
    sides = [padding] if isinstance(padding, int) else list(padding)
    if len(sides) == 1:
        sides *= 4
    elif len(sides) == 2:
        sides = [sides[0], sides[1], sides[0], sides[1]]
    if len(sides) != 4 or min(sides) < 0:
        raise _wrong("padding", f"{padding!r} is not one, two or four lengths of at least 0")
    return [int(side) for side in sides]


def _pair(name: str, value: Range) -> list[float]:
    pair = [float(number) for number in value]
    if len(pair) != 2:
        raise _wrong(name, f"{value!r} is not the smallest and the largest value")
    return pair


def _angle(name: str, degrees: float | Range) -> list[float]:
    if isinstance(degrees, (int, float)):
        if degrees < 0:
            raise _wrong(name, f"{degrees!r} alone must not be negative: it goes to both sides")
        return [-float(degrees), float(degrees)]
    return [float(angle) for angle in degrees]


def _factor(name: str, value: float | Range | None) -> list[float] | None:
    if value is None:
        return None
    if isinstance(value, (int, float)):
        if value < 0:
            raise _wrong(name, f"{value!r} alone must not be negative: it goes to both sides of 1")
        pair = [max(0.0, 1.0 - value), 1.0 + value]
    else:
        pair = _pair(name, value)
    return None if pair == [1.0, 1.0] else pair


class Resize(Transform):
    """Resize; one number is the short side, and ``max_size`` limits the long one."""

    def __init__(
        self,
        size: Size,
        interpolation: Literal["nearest", "bilinear"] = "bilinear",
        max_size: int | None = None,
    ) -> None:
        sides = [size] if isinstance(size, int) else list(size)
        to = int(sides[0]) if len(sides) == 1 else _size(size)
        super().__init__(size=to, max_size=max_size, interpolation=interpolation)


class CenterCrop(Transform):
    """Cut out the middle; a smaller image gets black around it."""

    def __init__(self, size: Size) -> None:
        super().__init__(size=_size(size))


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
            size=_size(size),
            padding=None if padding is None else _padding(padding),
            pad_if_needed=pad_if_needed,
            fill=_fill(fill),
            padding_mode=padding_mode,
        )


class RandomResizedCrop(Transform):
    """Cut out a part of a random ``scale`` of the area and ``ratio`` of the sides, and resize it."""

    def __init__(
        self, size: Size, scale: Range = (0.08, 1.0), ratio: Range = (3 / 4, 4 / 3)
    ) -> None:
        super().__init__(
            size=_size(size), scale=_pair("scale", scale), ratio=_pair("ratio", ratio)
        )


class ScaleJitter(Transform):
    """Resize so that the image fits ``target_size`` times a random factor."""

    def __init__(self, target_size: Size, scale_range: Range = (0.1, 2.0)) -> None:
        super().__init__(
            target_size=_size(target_size), scale_range=_pair("scale_range", scale_range)
        )


class Letterbox(Transform):
    """Fit the whole image into ``size``, in the middle, with ``fill`` around it."""

    def __init__(self, size: Size, fill: Fill = 0) -> None:
        super().__init__(size=_size(size), fill=_fill(fill))


class Pad(Transform):
    """Add rows and columns: on all sides, left/right and top/bottom, or left, top, right, bottom."""

    def __init__(
        self,
        padding: Size,
        fill: Fill = 0,
        padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    ) -> None:
        super().__init__(padding=_padding(padding), fill=_fill(fill), padding_mode=padding_mode)


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
            degrees=_angle("degrees", degrees),
            interpolation=interpolation,
            expand=expand,
            center=None if center is None else _pair("center", center),
            fill=_fill(fill),
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
        angles = None if shear is None else _angle("shear", shear)
        if angles is not None and len(angles) == 2:
            angles += [0.0, 0.0]
        super().__init__(
            degrees=_angle("degrees", degrees),
            translate=None if translate is None else _pair("translate", translate),
            scale=None if scale is None else _pair("scale", scale),
            shear=angles,
            interpolation=interpolation,
            fill=_fill(fill),
            center=None if center is None else _pair("center", center),
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
            distortion_scale=distortion_scale, p=p, interpolation=interpolation, fill=_fill(fill)
        )


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
            turn = [-abs(hue), abs(hue)] if isinstance(hue, (int, float)) else _pair("hue", hue)
            turn = None if turn == [0.0, 0.0] else [float(number) for number in turn]
        super().__init__(
            brightness=_factor("brightness", brightness),
            contrast=_factor("contrast", contrast),
            saturation=_factor("saturation", saturation),
            hue=turn,
        )


class Grayscale(Transform):
    """Make the image gray; it keeps three equal channels."""

    def __init__(self, num_output_channels: int = 3) -> None:
        if num_output_channels != 3:
            raise _wrong(
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
        width_and_height = _size(kernel_size)
        deviation = [float(sigma)] * 2 if isinstance(sigma, (int, float)) else _pair("sigma", sigma)
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
                raise _wrong("value", f'{value!r} is neither levels nor "random"')
            mean = [255 * level for level in IMAGENET_MEAN]
            contents = {"pixels": {"mean": mean, "std": [255 * level for level in IMAGENET_STD]}}
        else:
            contents = {"constant": _fill(value)}
        super().__init__(
            p=p, scale=_pair("scale", scale), ratio=_pair("ratio", ratio), value=contents
        )


class AutoAugment(Transform):
    """Apply one of 25 learned pairs of changes."""

    def __init__(
        self,
        policy: Literal["imagenet", "cifar10", "svhn"] = "imagenet",
        interpolation: Literal["nearest", "bilinear"] = "nearest",
        fill: Fill | None = None,
    ) -> None:
        super().__init__(policy=policy, interpolation=interpolation, fill=_fill(fill))


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
            fill=_fill(fill),
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
            num_magnitude_bins=num_magnitude_bins, interpolation=interpolation, fill=_fill(fill)
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
            fill=_fill(fill),
        )


def _json(transforms: Iterable[Transform]) -> str:
    return json.dumps(_specs(transforms))


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
        _fdconvert.draw_transforms(_json(transforms), (width, height), keys)
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
    return _fdconvert.apply_transforms(_json(transforms), pixels, (shape[1], shape[0]), keys)


def _specs(transforms: Iterable[Transform]) -> list[dict[str, Any]]:
    specs = []
    for transform in transforms:
        if not isinstance(transform, Transform):
            kind = f"{type(transform).__module__}.{type(transform).__qualname__}"
            what = f"{kind} is not one of fdconvert.transforms"
            raise UsageError(f"transform: {what}")
        specs.append(transform.spec)
    return specs


class RandomApply(Transform):
    """Apply all of a list, or nothing."""

    def __init__(self, transforms: Iterable[Transform], p: float = 0.5) -> None:
        super().__init__(transforms=_specs(transforms), p=p)


class RandomChoice(Transform):
    """Apply one of a list, with probabilities in proportion to ``p``."""

    def __init__(self, transforms: Iterable[Transform], p: Sequence[float] | None = None) -> None:
        weights = None if p is None else [float(weight) for weight in p]
        super().__init__(transforms=_specs(transforms), p=weights)


class RandomOrder(Transform):
    """Apply a list in random order."""

    def __init__(self, transforms: Iterable[Transform]) -> None:
        super().__init__(transforms=_specs(transforms))


class Normalize(Transform):
    """Make ``(level / 255 - mean) / std`` of the levels; floats unless ``ToDtype`` says which."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        numbers = {"mean": [float(it) for it in mean], "std": [float(it) for it in std]}
        for name, values in numbers.items():
            if len(values) != 3 or not all(map(math.isfinite, values)):
                raise _wrong(name, f"{values} is not a number for each of three channels")
        super().__init__(**numbers)


class ToDtype(Transform):
    """Type of the numbers: ``"u8"``, or ``"f16"``, ``"bf16"`` and ``"f32"`` from 0 to 1.

    Types of NumPy and torch work, too. ``"bf16"`` needs torch's tensors: ``output="torch"``.
    """

    def __init__(self, dtype: Any, scale: bool = True) -> None:
        names = {
            "uint8": "u8",
            "float16": "f16",
            "half": "f16",
            "bfloat16": "bf16",
            "float32": "f32",
            "float": "f32",
        }
        name = names.get(dtype_name(dtype), dtype_name(dtype))
        if not scale and name != "u8":
            raise _wrong("scale", "floats are from 0 to 1; multiply by 255 in the loop")
        super().__init__(dtype=name)


class ToLayout(Transform):
    """Memory order of the images: ``"nchw"`` or ``"nhwc"``."""

    def __init__(self, layout: Literal["nchw", "nhwc"]) -> None:
        super().__init__(layout=layout.lower())


class MixUp(Transform):
    """Mix each row of a batch with the row before it, by one share of a beta distribution.

    Labels become ``float32`` with a column for each class: ``num_classes``, by default as many as the
    label has names. Last in a list; ``RandomChoice([MixUp(), CutMix()])`` takes one of both for a
    batch, and ``RandomApply([MixUp()], p=0.8)`` leaves some batches as they are.
    """

    def __init__(self, alpha: float = 1.0, num_classes: int | None = None) -> None:
        super().__init__(alpha=float(alpha), num_classes=num_classes)


class CutMix(Transform):
    """Put a rectangle of the row before it into each row of a batch; the labels as with ``MixUp``."""

    def __init__(self, alpha: float = 1.0, num_classes: int | None = None) -> None:
        super().__init__(alpha=float(alpha), num_classes=num_classes)


class Function(Transform):
    """Call a Python function at the end of a list: the way out for what is not here.

    It gets the image of each row as a NumPy array of the row's form, changes it in place, or returns
    one of the same shape. With ``batch=True`` it gets the images of the whole batch in the form of
    the loader's ``output``, and may return anything in their place. It runs on the thread of the
    loop, or for rows on ``threads`` of Python; ``stats()["function_s"]`` is the time that takes.
    """

    def __init__(
        self, function: Callable[[Any], Any], *, batch: bool = False, threads: int = 0
    ) -> None:
        if not callable(function):
            raise _wrong("Function", f"{function!r} cannot be called")
        if batch and threads:
            raise _wrong("Function", "`threads` are for rows; a batch is one call")
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
            raise _wrong("Function", f"threads={threads!r} is no number from 0 on")
        super().__init__(function=function, batch=batch, threads=threads)
        self.function, self.batch, self.threads = function, batch, threads

    @property
    def spec(self) -> dict[str, Any]:
        """Never: a function is not a part of the engine's list."""
        raise _wrong("Function", "it comes last in a list, and not within another transform")


def is_bfloat16(transforms: Iterable[Transform]) -> bool:
    """Return whether rows of a list are of the type that only torch has."""
    return any(transform == ToDtype("bf16") for transform in transforms)


def compiled(transforms: Iterable[Transform]) -> tuple[str, list[Function]]:
    """Return a list for the engine, and the functions at its end."""
    listed = list(transforms)
    functions: list[Function] = []
    while listed and isinstance(listed[-1], Function):
        functions.insert(0, listed.pop())
    return _json(listed), functions


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


def _colours(strength: float, blur: float, solarize: float, kernel: int) -> list[Transform]:
    jitter = ColorJitter(0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength)
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
    crop = RandomResizedCrop(size)
    return [crop, *_colours(strength, 0.5, 0.0, kernel), *_normalised()]


def dino(
    global_size: int = 224, local_size: int = 96, n_local: int = 8
) -> dict[str, tuple[int, list[Transform]]]:
    """DINO's views, each with how many there are: two of the whole, and ``n_local`` of parts."""

    def view(size: int, scale: Range, blur: float, solarize: float) -> list[Transform]:
        crop = RandomResizedCrop(size, scale)
        return [crop, *_colours(0.5, blur, solarize, 9), *_normalised()]

    return {
        "global": (1, view(global_size, (0.4, 1.0), 1.0, 0.0)),
        "global_solarized": (1, view(global_size, (0.4, 1.0), 0.1, 0.2)),
        "local": (n_local, view(local_size, (0.05, 0.4), 0.5, 0.0)),
    }


def detection(size: Size = 640, fill: Fill = 114) -> list[Transform]:
    """The whole image in a frame, flipped by chance."""
    return [RandomHorizontalFlip(), Letterbox(size, fill), ToDtype("f32"), ToLayout("nchw")]
