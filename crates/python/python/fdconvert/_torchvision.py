"""Lists of torchvision's transforms as lists of ``fdconvert.transforms``.

A transform becomes one of ours where every argument has the same meaning here. The first one that
does not, and all after it, run in Python as one function at the end of the list, on the image that
torchvision would have there. Transforms are told by the names of their classes, so that importing
this imports neither torch nor torchvision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Literal

from fdconvert import transforms as T
from fdconvert._errors import UsageError
from fdconvert._tail import Tail, stacked
from fdconvert.transforms._arguments import plain, sequence
from fdconvert.transforms._lists import json_of


@dataclass(frozen=True)
class Step:
    """Where one transform of a list runs: as code of fdconvert (``"native"``), or ``"in Python"``."""

    transform: str
    runs: Literal["native", "in Python"]
    why: str

    def __str__(self) -> str:
        return f"{self.runs:<9}  {self.transform}: {self.why}"


@dataclass
class Form:
    """The image at one place of a list, as torchvision would have it there."""

    kind: Literal["PIL", "tensor", "Image"] = "PIL"
    dtype: Literal["u8", "f32", "f16"] = "u8"
    normalize: tuple[list[float], list[float]] | None = None
    has_one_size: bool = False

    def transforms(self) -> list[T.Transform]:
        """Return what rows of this form end in."""
        if self.kind == "PIL":
            return []
        normalize = [] if self.normalize is None else [T.Normalize(*self.normalize)]
        return [*normalize, T.ToDtype(self.dtype), T.ToLayout("nchw")]


class Other(Exception):
    """Why a transform has no counterpart."""


@dataclass(frozen=True)
class Conversion:
    """A list for ``Loader``, and what became of each of its transforms."""

    transforms: list[T.Transform]
    plan: list[Step]
    has_one_size: bool


def converted(transform: Any) -> Conversion:
    """Return the list of a transform of torchvision, or of a list of ours as it is."""
    listed = [transform] if isinstance(transform, T.Transform) else transform
    if isinstance(listed, (list, tuple)) and any(isinstance(it, T.Transform) for it in listed):
        if not all(isinstance(it, T.Transform) for it in listed):
            raise UsageError("transform: a list has transforms of fdconvert, or of others; not both")
        return Conversion(list(listed), [Step(repr(it), "native", "as given") for it in listed], True)
    form, native, plan = Form(), list[T.Transform](), list[Step]()
    theirs = list(_flat(transform))
    for number, it in enumerate(theirs):
        try:
            ours = _native(it, form)
        except Other as why:
            plan.append(Step(_shown(it), "in Python", str(why)))
            after = f"it comes after {_name(it)}"
            plan += [Step(_shown(later), "in Python", after) for later in theirs[number + 1 :]]
            tail = T.Function(Tail(theirs[number:], form.kind), batch=True, seeded=True)
            return Conversion([*native, *form.transforms(), tail], plan, has_one_size=False)
        plan.append(Step(_shown(it), "native", ", ".join(map(repr, ours)) or "sets dtype and layout"))
        native += ours
    if form.kind == "PIL":
        what = "rows are images of PIL at its end, of which torch makes no batch"
        raise UsageError(f"transform: {what}; end it with torchvision's ToTensor() or ToImage()")
    native += form.transforms()
    if not form.has_one_size:
        native.append(T.Function(stacked, batch=True))
    return Conversion(native, plan, form.has_one_size)


def _flat(transform: Any) -> Iterator[Any]:
    """Yield the transforms of a list, and of those in it that are only lists."""
    if isinstance(transform, (list, tuple)):
        listed: Iterable[Any] = transform
    elif transform is None:
        listed = []
    elif _is_of_torchvision(transform) and _name(transform) == "Compose":
        listed = transform.transforms
    elif type(transform).__module__ == "torch.nn.modules.container" and _name(transform) == "Sequential":
        listed = transform
    else:
        yield transform
        return
    for it in listed:
        yield from _flat(it)


def _name(transform: Any) -> str:
    return type(transform).__name__


def _is_of_torchvision(transform: Any) -> bool:
    """Return whether the class itself is torchvision's: one derived from it may do anything."""
    return type(transform).__module__.startswith("torchvision.transforms.")


def _shown(transform: Any) -> str:
    if _name(transform) == "function":
        return f"{transform.__module__}.{transform.__qualname__}"
    return " ".join(repr(transform).split())


LIKE: dict[str, tuple[str, ...]] = {
    "AugMix": (
        "severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill",
    ),
    "AutoAugment": ("policy", "interpolation", "fill"),
    "CenterCrop": ("size",),
    "ColorJitter": ("brightness", "contrast", "saturation", "hue"),
    "GaussianBlur": ("kernel_size", "sigma"),
    "Grayscale": ("num_output_channels",),
    "Pad": ("padding", "fill", "padding_mode"),
    "RandAugment": ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill"),
    "RandomAdjustSharpness": ("sharpness_factor", "p"),
    "RandomAffine": (
        "degrees", "translate", "scale", "shear", "interpolation", "fill", "center",
    ),
    "RandomAutocontrast": ("p",),
    "RandomCrop": ("size", "padding", "pad_if_needed", "fill", "padding_mode"),
    "RandomEqualize": ("p",),
    "RandomGrayscale": ("p",),
    "RandomHorizontalFlip": ("p",),
    "RandomInvert": ("p",),
    "RandomPerspective": ("distortion_scale", "p", "interpolation", "fill"),
    "RandomPosterize": ("bits", "p"),
    "RandomResizedCrop": ("size", "scale", "ratio", "interpolation", "antialias"),
    "RandomRotation": ("degrees", "interpolation", "expand", "center", "fill"),
    "RandomSolarize": ("threshold", "p"),
    "RandomVerticalFlip": ("p",),
    "Resize": ("size", "interpolation", "max_size", "antialias"),
    "ScaleJitter": ("target_size", "scale_range"),
    "TrivialAugmentWide": ("num_magnitude_bins", "interpolation", "fill"),
}  # fmt: skip
"""Transforms of one name here and there, with the arguments that each has as attributes there."""

ON_FLOATS = {
    "CenterCrop", "Pad", "RandomCrop", "RandomErasing", "RandomHorizontalFlip", "RandomResizedCrop",
    "RandomVerticalFlip", "Resize",
}  # fmt: skip
"""Those that do the same before a conversion to floats as after it."""

ON_NORMALIZED = {"RandomErasing", "RandomHorizontalFlip", "RandomVerticalFlip"}

MOVES = ("CenterCrop", "Pad", "RandomCrop", "RandomResizedCrop", "Resize", "ScaleJitter")
"""Those that may change the size of an image."""


def _native(it: Any, form: Form) -> list[T.Transform]:
    """Return the counterparts of one transform, and change the form as it does."""
    name = _name(it)
    if not _is_of_torchvision(it):
        inner = getattr(it, "transforms", None)
        hint = "; pass its attribute `transforms` if that is all it does" if inner is not None else ""
        raise Other(f"it is not a transform of torchvision{hint}")
    try:
        if name in FORMS:
            return FORMS[name](it, form)
        if name in CONTAINERS:
            return [CONTAINERS[name](it, form)]
        if name not in LIKE and name != "RandomErasing":
            raise Other("fdconvert.transforms has no such transform")
        if form.dtype != "u8" and name not in (ON_NORMALIZED if form.normalize else ON_FLOATS):
            raise Other("it comes after the conversion to floats; put it before")
        return [_erasing(it, form) if name == "RandomErasing" else _alike(name, it, form)]
    except UsageError as error:
        # Ours refuses an argument.
        raise Other(str(error).removeprefix("transform: ")) from error


def _alike(name: str, it: Any, form: Form) -> T.Transform:
    interpolation = plain(getattr(it, "interpolation", "bilinear"))
    if interpolation not in ("nearest", "bilinear"):
        raise Other(f'interpolation="{interpolation}"; fdconvert has "bilinear" and "nearest"')
    if name == "Resize" and interpolation == "nearest" and form.kind == "PIL":
        raise Other('interpolation="nearest": PIL takes other pixels than it takes of tensors')
    if interpolation == "bilinear" and getattr(it, "antialias", True) is not True:
        raise Other(f"antialias={it.antialias}; fdconvert always has it")
    if interpolation == "nearest" and name == "ScaleJitter":
        raise Other('interpolation="nearest"; fdconvert has "bilinear"')
    if form.dtype != "u8" and any(sequence("fill", getattr(it, "fill", 0) or 0)):
        raise Other("`fill` is a number of floats; put it before the conversion")
    ours: T.Transform = getattr(T, name)(**{argument: getattr(it, argument) for argument in LIKE[name]})
    if name in ("CenterCrop", "RandomCrop", "RandomResizedCrop"):
        form.has_one_size = True
    elif name == "Resize":
        form.has_one_size |= len(sequence("size", it.size)) == 2
    elif name == "ScaleJitter" or getattr(it, "expand", False):
        form.has_one_size = False
    return ours


def _erasing(it: Any, form: Form) -> T.Transform:
    """Erase by levels what torchvision erases by the numbers of the form."""
    if it.value is None or isinstance(it.value, str):
        raise Other('value="random" is noise that levels from 0 to 255 do not hold')
    values = sequence("value", it.value)
    values = values * 3 if len(values) == 1 else values
    if form.dtype != "u8":
        mean, std = form.normalize or ([0.0] * 3, [1.0] * 3)
        values = [round((v * s + m) * 255) for v, m, s in zip(values, mean, std, strict=True)]
    return T.RandomErasing(it.p, it.scale, it.ratio, values)


def _children(it: Any, form: Form) -> list[T.Transform]:
    """Return what is within a list; it must not change the form of rows."""
    listed = list(_flat(list(it.transforms)))
    for child in listed:
        if _name(child) in FORMS:
            raise Other(f"{_name(child)} in it is drawn, and the form of rows is not")
    inner = replace(form)
    ours = [transform for child in listed for transform in _native(child, inner)]
    text = json_of(ours)
    if any(f'"{name}"' in text for name in MOVES) or '"expand": true' in text:
        form.has_one_size = False
    return ours


CONTAINERS: dict[str, Callable[[Any, Form], T.Transform]] = {
    "RandomApply": lambda it, form: T.RandomApply(_children(it, form), it.p),
    "RandomChoice": lambda it, form: T.RandomChoice(_children(it, form), it.p),
    "RandomOrder": lambda it, form: T.RandomOrder(_children(it, form)),
}


def _to_kind(kind: Literal["PIL", "tensor", "Image"], *known: str) -> Callable[[Any, Form], list[T.Transform]]:
    def convert(it: Any, form: Form) -> list[T.Transform]:
        if form.kind not in known or (kind == "PIL" and form.dtype != "u8"):
            raise Other(f"an image of {form.dtype} as {form.kind} is not what it takes")
        form.kind = kind
        return []

    return convert


def _to_tensor(it: Any, form: Form) -> list[T.Transform]:
    _to_kind("tensor", "PIL")(it, form)
    form.dtype = "f32"
    return []


def _to_dtype(it: Any, form: Form) -> list[T.Transform]:
    if form.kind == "PIL":
        raise Other("it does nothing to images of PIL; put ToImage() before it")
    known: dict[str, Literal["u8", "f32", "f16"]] = {
        "torch.uint8": "u8",
        "torch.float32": "f32",
        "torch.float16": "f16",
    }
    dtype = known.get(str(it.dtype))
    if dtype is None or dtype != form.dtype and form.dtype != "u8":
        raise Other(f"dtype={it.dtype}; fdconvert has float32 and float16 of uint8")
    if dtype != form.dtype and not getattr(it, "scale", True):
        raise Other("scale=False; floats of fdconvert are from 0 to 1")
    form.dtype = dtype
    return []


def _normalize(it: Any, form: Form) -> list[T.Transform]:
    mean, std = ([float(value) for value in values] for values in (it.mean, it.std))
    if form.dtype == "u8" or form.normalize is not None:
        raise Other("it takes floats that are not normalised yet")
    mean, std = (values * 3 if len(values) == 1 else values for values in (mean, std))
    if len(mean) != 3 or len(std) != 3:
        raise Other("rows have three channels")
    T.Normalize(mean, std)
    form.normalize = mean, std
    return []


def _image_classification(it: Any, form: Form) -> list[T.Transform]:
    """What a preset of torchvision's weights does."""
    if form.dtype != "u8":
        raise Other("it comes after the conversion to floats; put it before")
    resize = SimpleNamespace(
        size=it.resize_size, interpolation=it.interpolation, max_size=None, antialias=it.antialias
    )
    ours = [_alike("Resize", resize, form), T.CenterCrop(it.crop_size)]
    form.has_one_size, form.dtype = True, "f32"
    form.kind = "tensor" if form.kind == "PIL" else form.kind
    return ours + _normalize(it, form)


FORMS: dict[str, Callable[[Any, Form], list[T.Transform]]] = {
    "ConvertImageDtype": _to_dtype,
    "Identity": lambda it, form: [],
    "ImageClassification": _image_classification,
    "Normalize": _normalize,
    "PILToTensor": _to_kind("tensor", "PIL"),
    "RGB": lambda it, form: [],
    "ToDtype": _to_dtype,
    "ToImage": _to_kind("Image", "PIL", "tensor", "Image"),
    "ToPILImage": _to_kind("PIL", "tensor", "Image"),
    "ToPureTensor": _to_kind("tensor", "tensor", "Image"),
    "ToTensor": _to_tensor,
}
"""Those that say what rows are made of, and those that do nothing here."""
