"""What transforms are, and the forms of their arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fdconvert._errors import UsageError

Size = int | Sequence[int]
Range = Sequence[float]
Fill = int | Sequence[int]


class Transform:
    """One transform of a list: its name and arguments, in ``spec``."""

    def __init__(self, **arguments: Any) -> None:
        for name, value in arguments.items():
            numbers = value if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(it, float) and not math.isfinite(it) for it in numbers):
                raise wrong(type(self).__name__, f"{name}={value!r} is not finite")
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


def wrong(name: str, what: str) -> UsageError:
    return UsageError(f"transform: {name}: {what}")


def size_of(size: Size) -> list[int]:
    sides = [size, size] if isinstance(size, int) else list(size)
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2:
        raise wrong("size", f"{size!r} is not one side, or height and width")
    return [int(side) for side in sides]


def fill_of(fill: Fill | None) -> list[int]:
    levels = [fill or 0] * 3 if fill is None or isinstance(fill, int) else list(fill)
    if len(levels) == 1:
        levels *= 3
    if len(levels) != 3 or not all(0 <= level <= 255 for level in levels):
        raise wrong("fill", f"{fill!r} is not one level, or red, green and blue, each 0 to 255")
    return [int(level) for level in levels]


def padding_of(padding: Size) -> list[int]:
    sides = [padding] if isinstance(padding, int) else list(padding)
    if len(sides) == 1:
        sides *= 4
    elif len(sides) == 2:
        sides = [sides[0], sides[1], sides[0], sides[1]]
    if len(sides) != 4 or min(sides) < 0:
        raise wrong("padding", f"{padding!r} is not one, two or four lengths of at least 0")
    return [int(side) for side in sides]


def pair_of(name: str, value: Range) -> list[float]:
    pair = [float(number) for number in value]
    if len(pair) != 2:
        raise wrong(name, f"{value!r} is not the smallest and the largest value")
    return pair


def angle_of(name: str, degrees: float | Range) -> list[float]:
    if isinstance(degrees, (int, float)):
        if degrees < 0:
            raise wrong(name, f"{degrees!r} alone must not be negative: it goes to both sides")
        return [-float(degrees), float(degrees)]
    return [float(angle) for angle in degrees]


def factor_of(name: str, value: float | Range | None) -> list[float] | None:
    if value is None:
        return None
    if isinstance(value, (int, float)):
        if value < 0:
            raise wrong(name, f"{value!r} alone must not be negative: it goes to both sides of 1")
        pair = [max(0.0, 1.0 - value), 1.0 + value]
    else:
        pair = pair_of(name, value)
    return None if pair == [1.0, 1.0] else pair
