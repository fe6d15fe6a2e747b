"""What torchvision makes of an image and what belongs to it, by the changes that a list has drawn."""

from typing import Any

import numpy
import pytest


def image(changes: list[Any], array: Any) -> Any:
    """An image of bytes, changed."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.from_numpy(array).permute(2, 0, 1).contiguous()
    return moved(changes, tensor).permute(1, 2, 0).contiguous().numpy()


def moved(changes: list[Any], it: Any, fill: int | None = None) -> Any:
    """A tensor or one of ``tv_tensors``, changed; ``fill`` is the value around a mask."""
    for change in changes:
        if isinstance(change, str):
            it = _one(change, None, it, fill)
        else:
            ((name, arguments),) = change.items()
            it = _one(name, arguments, it, fill)
    return it


PIXELS = {
    "adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue", "grayscale",
    "gaussian_blur", "invert", "posterize", "solarize", "adjust_sharpness", "autocontrast", "equalize",
    "erase", "mix",
}  # fmt: skip


def _one(name: str, arguments: Any, it: Any, fill: int | None) -> Any:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tv_tensors = pytest.importorskip("torchvision.tv_tensors", reason="torchvision is not installed")
    F = pytest.importorskip("torchvision.transforms.v2.functional")
    is_places = isinstance(it, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints))
    if name in PIXELS and isinstance(it, tv_tensors.TVTensor):
        return it
    if name == "resize":
        kind = F.InterpolationMode[arguments["interpolation"].upper()]
        is_line = 1 in F.get_size(it) or 1 in arguments["size"]
        if is_line and not is_places and it.dtype == torch.uint8:
            # Torch has faults where there is one column, but for floats with their channels together.
            floats = it.permute(1, 2, 0).contiguous().permute(2, 0, 1).float()
            return F.resize(floats, arguments["size"], kind).round().to(torch.uint8)
        return F.resize(it, arguments["size"], kind, antialias=True)
    if name == "crop":
        top, left, height, width = (arguments[it] for it in ("top", "left", "height", "width"))
        if not is_places:
            # Its crop pads with black, but not on both sides.
            rows, columns = F.get_size(it)
            right, bottom = max(0, left + width - columns), max(0, top + height - rows)
            it = F.pad(it, [max(0, -left), max(0, -top), right, bottom])
            top, left = max(0, top), max(0, left)
        return F.crop(it, top, left, height, width)
    if name == "pad":
        mode = arguments["padding_mode"]
        colour = [float(level) for level in arguments["fill"]] if fill is None else fill
        return F.pad(it, arguments["padding"], colour if mode == "constant" else 0, mode)
    if name == "warp":
        ((kind, warp),) = arguments["warp"].items()
        colour = [float(level) for level in arguments["fill"]] if fill is None else fill
        more = {
            "interpolation": F.InterpolationMode[arguments["interpolation"].upper()],
            "fill": colour,
        }
        if kind == "perspective":
            return F.perspective(it, warp["startpoints"], warp["endpoints"], **more)
        return getattr(F, kind)(it, **warp, **more)
    if name == "mix":
        original = it.permute(1, 2, 0).contiguous().numpy()
        mixed = arguments["weight"] * it.float()
        for chain in arguments["chains"]:
            made = image(chain["changes"], original)
            mixed = mixed + chain["weight"] * torch.from_numpy(made).permute(2, 0, 1)
        return mixed.to(torch.uint8)
    if name == "erase":
        value = torch.tensor(arguments["value"]["constant"], dtype=torch.uint8)[:, None, None]
        return F.erase(it, *(arguments[at] for at in ("top", "left", "height", "width")), value)
    if name == "grayscale":
        return F.rgb_to_grayscale(it, 3)
    if name == "gaussian_blur":
        return F.gaussian_blur(it, arguments["kernel_size"], arguments["sigma"])
    function = getattr(F, name)
    return function(it) if arguments is None else function(it, arguments)


def through(matrix: Any, points: Any) -> Any:
    """Points of (x, y), moved by a matrix of three by three."""
    homogeneous = numpy.concatenate([points, numpy.ones((*points.shape[:-1], 1))], axis=-1)
    to = homogeneous @ numpy.asarray(matrix).T
    return to[..., :2] / to[..., 2:]
