"""Lists within lists, and what ends a list: the form of rows, mixing, functions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from fdconvert._errors import UsageError
from fdconvert._outputs import dtype_name
from fdconvert.transforms._arguments import Transform, wrong


def specs_of(transforms: Iterable[Transform]) -> list[dict[str, Any]]:
    """Return a list as the engine takes it."""
    specs = []
    for transform in transforms:
        if not isinstance(transform, Transform):
            kind = f"{type(transform).__module__}.{type(transform).__qualname__}"
            what = f"{kind} is not one of fdconvert.transforms"
            raise UsageError(f"transform: {what}")
        specs.append(transform.spec)
    return specs


def json_of(transforms: Iterable[Transform]) -> str:
    """Return a list as JSON."""
    return json.dumps(specs_of(transforms))


class RandomApply(Transform):
    """Apply all of a list, or nothing."""

    def __init__(self, transforms: Iterable[Transform], p: float = 0.5) -> None:
        super().__init__(transforms=specs_of(transforms), p=p)


class RandomChoice(Transform):
    """Apply one of a list, with probabilities in proportion to ``p``."""

    def __init__(self, transforms: Iterable[Transform], p: Sequence[float] | None = None) -> None:
        weights = None if p is None else [float(weight) for weight in p]
        super().__init__(transforms=specs_of(transforms), p=weights)


class RandomOrder(Transform):
    """Apply a list in random order."""

    def __init__(self, transforms: Iterable[Transform]) -> None:
        super().__init__(transforms=specs_of(transforms))


class Bands(Transform):
    """Take images as ``n`` bands of ``dtype``, as they are stored, instead of RGB of 8 bits.

    For the bands of satellites, tomograms of 12 or 16 bits, and depths: TIFFs of ``"u8"``, ``"u16"``,
    ``"i16"`` and ``"f32"``, and PNGs of 16 bits. Cuts, flips, padding with 0 and the bilinear
    resizes follow; numbers are the stored values, ``ToDtype("f32")`` and ``Normalize`` with a mean
    and deviation of each band make floats of them.
    """

    def __init__(self, n: int, dtype: Any = "u16") -> None:
        super().__init__(n=n, dtype=number_type(dtype))


class Normalize(Transform):
    """Make ``(level / 255 - mean) / std`` of the levels; floats unless ``ToDtype`` says which.

    Of ``Bands`` it is ``(value - mean) / std``, with a number for each band.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        numbers = {"mean": [float(it) for it in mean], "std": [float(it) for it in std]}
        for name, values in numbers.items():
            if not values or not all(map(math.isfinite, values)):
                raise wrong(name, f"{values} is not a number for each channel")
        super().__init__(**numbers)


class ToDtype(Transform):
    """Type of the numbers: ``"u8"``, or ``"f16"``, ``"bf16"`` and ``"f32"`` from 0 to 1.

    Floats of ``Bands`` are the stored values.

    Types of NumPy and torch work, too. ``"bf16"`` needs torch's tensors: ``output="torch"``.
    """

    def __init__(self, dtype: Any, scale: bool = True) -> None:
        name = number_type(dtype)
        if not scale and name != "u8":
            raise wrong("scale", "floats are from 0 to 1; multiply by 255 in the loop")
        super().__init__(dtype=name)


def number_type(dtype: Any) -> str:
    """Return the engine's name of a type of NumPy, torch or its own."""
    names = {
        "uint8": "u8",
        "uint16": "u16",
        "int16": "i16",
        "float16": "f16",
        "half": "f16",
        "bfloat16": "bf16",
        "float32": "f32",
        "float": "f32",
    }
    return names.get(dtype_name(dtype), dtype_name(dtype))


class ToLayout(Transform):
    """Memory order of the images: ``"nchw"`` or ``"nhwc"``."""

    def __init__(self, layout: Literal["nchw", "nhwc"]) -> None:
        super().__init__(layout=str(layout).lower())


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

    With ``seeded=True`` it gets a second argument to draw by: a number of 63 bits, or with
    ``batch=True`` a list with one for each row of each view. It follows from seed, epoch, sample and
    view, and for samples that an epoch repeats also from the repetition.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        batch: bool = False,
        threads: int = 0,
        seeded: bool = False,
    ) -> None:
        if not callable(function):
            raise wrong("Function", f"{function!r} cannot be called")
        if batch and threads:
            raise wrong("Function", "`threads` are for rows; a batch is one call")
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
            raise wrong("Function", f"threads={threads!r} is no number from 0 on")
        super().__init__(function=function, batch=batch, threads=threads, seeded=seeded)
        self.function, self.batch, self.threads, self.seeded = function, batch, threads, seeded

    @property
    def spec(self) -> dict[str, Any]:
        """Never: a function is not a part of the engine's list."""
        raise wrong("Function", "it comes last in a list, and not within another transform")


def is_bfloat16(transforms: Iterable[Transform]) -> bool:
    """Return whether rows of a list are of the type that only torch has."""
    return any(transform == ToDtype("bf16") for transform in transforms)


def compiled(transforms: Iterable[Transform]) -> tuple[str, list[Function]]:
    """Return a list for the engine, and the functions at its end."""
    listed = list(transforms)
    functions: list[Function] = []
    while listed and isinstance(last := listed[-1], Function):
        functions.insert(0, last)
        listed.pop()
    if sorted(functions, key=lambda it: it.batch) != functions:
        raise wrong("Function", "those of rows come before those with batch=True")
    return json_of(listed), functions
