"""What transforms are, and the forms of their arguments."""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from fdconvert._errors import UsageError

Size = int | Sequence[int]
Range = Sequence[float]
Fill = int | Sequence[int]


class Transform:
    """One transform of a list: its name and arguments, in ``spec``."""

    def __init__(self, **arguments: Any) -> None:
        arguments = {name: plain(value) for name, value in arguments.items()}
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


def plain(value: Any) -> Any:
    """Return numbers of NumPy and torch, and the members of their enumerations, as Python's own."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, (list, tuple)):
        return [plain(it) for it in value]
    if value is None or isinstance(value, (bool, int, float, str, dict)):
        return value
    if hasattr(value, "__index__"):
        return operator.index(value)
    return float(value) if hasattr(value, "__float__") else value


def sequence(name: str, value: Any) -> list[Any]:
    """Return several numbers as a list, and one in a list."""
    value = plain(value)
    if isinstance(value, (int, float)):
        return [value]
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise wrong(name, f"{value!r} is neither a number nor several")
    return [plain(it) for it in value]


def bilinear(name: str, interpolation: Any, antialias: Any) -> None:
    """Refuse what a resize does not have."""
    if plain(interpolation) != "bilinear":
        raise wrong(name, f"interpolation={interpolation!r}: rows are resized by \"bilinear\" here")
    if not antialias:
        raise wrong(name, "antialias=False: rows are always resized with it, as Pillow does")


def size_of(size: Size) -> list[int]:
    sides = sequence("size", size)
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2:
        raise wrong("size", f"{size!r} is not one side, or height and width")
    return [int(side) for side in sides]


def fill_of(fill: Fill | None) -> list[int]:
    levels = [0] if fill is None else sequence("fill", fill)
    if len(levels) == 1:
        levels *= 3
    if len(levels) != 3 or not all(0 <= level <= 255 and level == int(level) for level in levels):
        raise wrong("fill", f"{fill!r} is not one level, or red, green and blue, each 0 to 255")
    return [int(level) for level in levels]


def padding_of(padding: Size) -> list[int]:
    sides = sequence("padding", padding)
    if len(sides) == 1:
        sides *= 4
    elif len(sides) == 2:
        sides = [sides[0], sides[1], sides[0], sides[1]]
    if len(sides) != 4 or min(sides) < 0:
        raise wrong("padding", f"{padding!r} is not one, two or four lengths of at least 0")
    return [int(side) for side in sides]


def pair_of(name: str, value: Range) -> list[float]:
    pair = [float(number) for number in sequence(name, value)]
    if len(pair) != 2:
        raise wrong(name, f"{value!r} is not the smallest and the largest value")
    return pair


def angle_of(name: str, degrees: float | Range) -> list[float]:
    angles = [float(angle) for angle in sequence(name, degrees)]
    if len(angles) == 1:
        if angles[0] < 0:
            raise wrong(name, f"{degrees!r} alone must not be negative: it goes to both sides")
        return [-angles[0], angles[0]]
    if len(angles) not in (2, 4):
        raise wrong(name, f"{degrees!r} is not one angle, or the smallest and the largest one")
    return angles


def factor_of(name: str, value: float | Range | None) -> list[float] | None:
    if value is None:
        return None
    pair = [float(number) for number in sequence(name, value)]
    if len(pair) == 1:
        if pair[0] < 0:
            raise wrong(name, f"{value!r} alone must not be negative: it goes to both sides of 1")
        pair = [max(0.0, 1.0 - pair[0]), 1.0 + pair[0]]
    if len(pair) != 2:
        raise wrong(name, f"{value!r} is not the smallest and the largest value")
    return None if pair == [1.0, 1.0] else pair
