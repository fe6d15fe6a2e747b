"""Types of a batch's arrays: NumPy, torch or neither, pinned or on a device."""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from fdconvert._batch import BatchObjects
from fdconvert._errors import UsageError
from fdconvert._groups import Output


def available(kind: str) -> str:
    """Return the kind of arrays for ``kind``; with ``"auto"`` torch's if it was imported."""
    if kind != "auto":
        return kind
    if sys.modules.get("torch") is not None:
        return "torch"
    try:
        import numpy  # noqa: F401
    except ImportError:
        return "array"
    return "numpy"


def check_output(output: Output, kind: str, *, on_device: bool) -> None:
    """Refuse what arrays of this kind cannot have."""
    if output.pin_memory and on_device:
        raise UsageError("Output.pin_memory: batches are on the GPU already")
    if output.out is not None and on_device and kind != "torch":
        raise UsageError('Output.out: on a GPU it needs torch\'s tensors, kind="torch"')
    if output.pin_memory and kind != "torch":
        raise UsageError('Output.pin_memory: it needs torch\'s tensors, kind="torch"')


def dtype_name(dtype: Any) -> str:
    """Return the name of a type, which may be from NumPy, torch or JAX."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).removeprefix("torch.")


def nvjpeg() -> str | None:
    """Return nvJPEG's path if pip installed it; ``None`` leaves the search to the system."""
    if "FDCONVERT_NVJPEG_LIB" in os.environ:
        return None
    places = ["cu13/lib/libnvjpeg.so.13", "nvjpeg/lib/libnvjpeg.so.12"]
    found = (os.path.join(folder, "nvidia", place) for place in places for folder in sys.path)
    return next(filter(os.path.isfile, found), None)


def available_on_device(kind: str) -> str:
    """Return the kind of arrays for ``kind`` on a GPU."""
    if kind == "numpy":
        what = 'NumPy has no arrays on a GPU; use output="array", whose images have `cpu()`'
        raise UsageError(f"output: {what}")
    if kind == "auto":
        try:
            import torch  # noqa: F401
        except ImportError:
            return "array"
        return "torch"
    return kind


def is_no_array(column: Any) -> bool:
    """Return whether a column is missing, or a list."""
    return column is None or isinstance(column, list)


def copy_into(target: Any, images: Any) -> Any:
    """Copy to the start of the caller's tensor, on the GPU."""
    rows = target.view(-1)[: images.numel()].view(images.shape)
    return rows.copy_(images, non_blocking=True)


def _to_numpy() -> Callable[[Any], Any]:
    import numpy

    return numpy.asarray


def _to_torch() -> Callable[[Any], Any]:
    import torch

    # Torch does not declare `from_dlpack` as exported.
    undeclared: Any = torch
    convert: Callable[[Any], Any] = undeclared.from_dlpack
    return convert


def _to_array() -> Callable[[Any], Any]:
    return lambda array: array


CONVERTERS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "numpy": _to_numpy,
    "torch": _to_torch,
    "array": _to_array,
}


def pin_function() -> Callable[[Any], Any]:
    """Return a function that pins tensors; without a GPU, warn and return one that does not."""
    import torch

    if torch.cuda.is_available():
        return lambda tensor: tensor.pin_memory()
    what = "fdconvert.Loader: pin_memory has no effect, because torch finds no CUDA device"
    warnings.warn(what, RuntimeWarning, stacklevel=4)
    return lambda tensor: tensor


def pinned(column: Any, pin: Callable[[Any], Any]) -> Any:
    """Pin the arrays of a column."""
    if isinstance(column, BatchObjects):
        lists = {name: getattr(column, name) for name in BatchObjects.__slots__}
        return BatchObjects(**{name: None if it is None else pin(it) for name, it in lists.items()})
    return column if isinstance(column, list) else pin(column)


def buffer_of(target: Any) -> Any:
    """Return an object with the buffer protocol for the caller's array."""
    # Torch's tensors lack the buffer protocol, but share their memory with NumPy, which has no bf16.
    if str(getattr(target, "dtype", "")) == "torch.bfloat16":
        import torch

        target = target.view(torch.int16)
    return target.numpy() if hasattr(target, "numpy") else target
