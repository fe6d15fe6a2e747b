"""Conversion of other libraries' values, recognised by their attributes without importing them.

The compiled module calls this for values that are neither ``bytes`` nor have the buffer protocol.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

Pixels: TypeAlias = tuple[int, int, int, bytes]
"""Width, height, channels, and the values row by row."""


class Unfit(ValueError):
    """A value does not fit its field; the text says what to do."""


_ARE_PILLOW: dict[type, bool] = {}
"""Whether a type is a Pillow image: a cache, because every image is checked."""


def is_pillow(value: Any) -> bool:
    """Return whether the value is a Pillow image."""
    kind = type(value)
    found = _ARE_PILLOW.get(kind)
    if found is None:
        bases = kind.__mro__
        found = any(base.__name__ == "Image" and base.__module__ == "PIL.Image" for base in bases)
        if len(_ARE_PILLOW) < 64:
            _ARE_PILLOW[kind] = found
    return found


def image(value: Any) -> bytes | Pixels | Any:
    """Return the bytes of an image file, or pixels, or an array of pixels."""
    # First, because the other checks take half as long as reading a small image's pixels.
    if is_pillow(value):
        return _file_of(value) or _pixels_of(value)
    if isinstance(value, Mapping):
        path = value.get("path")
        if path is None:
            raise Unfit("a dict for an image needs `bytes` or `path`")
        return Path(path).read_bytes()
    if isinstance(value, (str, os.PathLike)):
        return Path(value).read_bytes()
    array = _array_of(value)
    if array is None:
        raise Unfit(
            "pass the bytes of an image file, its path, a Pillow image, or a uint8 array of"
            " height, width and channels"
        )
    if _dtype_of(array) != "|u1":
        raise Unfit("pixels are uint8; for values from 0 to 1: (array * 255).round().astype('uint8')")
    return array


def _file_of(value: Any) -> bytes | None:
    """Return the file of a Pillow image that is neither decoded nor changed; else ``None``."""
    file = getattr(value, "fp", None)
    # Decoding empties `tile`, and so does every change in place.
    if file is None or not getattr(value, "tile", None) or getattr(value, "tell", int)() != 0:
        return None
    try:
        at = file.tell()
        file.seek(0)
        try:
            content: bytes = file.read()
        finally:
            file.seek(at)
    except (OSError, ValueError):
        return None
    return content


_CHANNELS = {"L": 1, "RGB": 3, "RGBA": 4}
"""Channels of the Pillow modes that can be stored unchanged."""


def _pixels_of(value: Any) -> Pixels:
    mode = value.mode
    if mode not in _CHANNELS:
        if mode == "1":
            value = value.convert("L")
        elif mode == "P":
            value = value.convert("RGBA" if "transparency" in value.info else "RGB")
        elif mode == "LA":
            value = value.convert("RGBA")
        else:
            raise Unfit(f"mode {mode} is not supported; convert it to L, RGB or RGBA")
    width, height = value.size
    return width, height, _CHANNELS[value.mode], value.tobytes()


def _array_of(value: Any) -> Any:
    """Return an array with NumPy's array interface; ``None`` for anything else."""
    if hasattr(value, "__array_interface__"):
        return value
    # Tensors on a GPU, or with a gradient, raise an error that says what to do.
    convert = getattr(value, "__array__", None)
    return None if convert is None or isinstance(value, type) else convert()


def _dtype_of(array: Any) -> str:
    name: str = array.__array_interface__["typestr"]
    return name


def array(value: Any, dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the elements of an array of that type and shape, row by row."""
    found = _array_of(value)
    if found is None:
        raise Unfit("numpy.asarray(value, dtype) converts a list")
    if _dtype_of(found) != dtype:
        raise Unfit("array.astype(dtype) converts it")
    if tuple(found.__array_interface__["shape"]) != shape:
        raise Unfit("all arrays of a field must have the same shape; store others as bytes (np.save)")
    content: bytes = found.tobytes()
    return content


def content(value: Any) -> bytes:
    """Return the bytes of an object with the buffer protocol."""
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise Unfit("use text.encode() for text, array.tobytes() for an array")


def json_text(value: Any) -> bytes:
    """Return the value as JSON."""
    try:
        text = json.dumps(
            value, default=_not_json, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
    except (TypeError, ValueError) as cause:
        raise Unfit(str(cause)) from None
    return text.encode()


def _not_json(value: Any) -> Any:
    if is_pillow(value):
        cure = "make it a list of images alone, or a field, or leave the field out"
        raise Unfit(f"an image in it is not JSON: {cure}")
    raise Unfit(f"Object of type {type(value).__name__} is not JSON serializable")


def as_dict(value: Any) -> dict[Any, Any] | None:
    """Return a mapping as a dictionary; ``None`` for anything else."""
    return dict(value) if isinstance(value, Mapping) else None


def described(value: Any) -> str:
    """Describe a value in a few words."""
    if value is None:
        return "None"
    kind = type(value).__name__
    if is_pillow(value):
        return f"a Pillow image of mode {value.mode} and size {value.size}"
    if isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return f"{kind} {text if len(text) <= 40 else text[:37] + '...'}"
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes"
    if isinstance(value, (list, tuple, Mapping)):
        return f"{kind} of {len(value)}"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"{kind} of {dtype} and shape {tuple(shape)}"
    return kind
