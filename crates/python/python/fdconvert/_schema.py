"""Fields of samples: from the caller, the dataset, or the first sample."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fdconvert._errors import UsageError
from fdconvert._fdconvert import is_image
from fdconvert._values import _array_of, described, is_pillow

FieldKind: TypeAlias = str | tuple[Any, Sequence[int]] | Sequence[str]
"""``"image"``, ``"images"``, ``"mask"``, ``"int"``, ``"float"``, ``"text"``, ``"json"``, ``"bytes"``, an array as
``("float32", (512,))``, or the class names of a label."""

SchemaLike: TypeAlias = Mapping[str, FieldKind]

_KINDS = ("image", "images", "mask", "int", "float", "text", "json", "bytes")
_IMAGE_ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
ARRAYS = {
    "bool": "|b1",
    "int8": "|i1",
    "uint8": "|u1",
    "int16": "<i2",
    "uint16": "<u2",
    "int32": "<i4",
    "uint32": "<u4",
    "int64": "<i8",
    "uint64": "<u8",
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}


@dataclass(frozen=True)
class Documents:
    """Kind of a JSON field whose members a Hugging Face dataset describes."""

    members: list[dict[str, Any]]
    """Key, class names and precision of each, in the compiled module's form."""


@dataclass(frozen=True)
class Fields:
    """A schema for the compiled module."""

    document: str
    """The schema as JSON."""
    masks: list[int]
    """Positions of the fields that are masks."""
    takes_some: bool
    """Whether samples may have more fields, which are left out."""


def of_schema(
    schema: SchemaLike | Mapping[str, FieldKind | Documents], takes_some: bool = True
) -> Fields:
    """Return the fields of a schema."""
    fields, masks, members = [], [], {}
    if not isinstance(schema, Mapping):
        raise UsageError("schema: must be a dict of names and kinds")
    for position, (name, kind) in enumerate(schema.items()):
        if not isinstance(name, str) or name.startswith("__"):
            raise UsageError(f"schema: `{name}` is not the name of a field")
        if kind == "mask":
            masks.append(position)
        if isinstance(kind, Documents):
            members[name] = kind.members
            kind = "json"
        fields.append({"name": name} | _field(name, kind))
    return Fields(json.dumps({"fields": fields, "members": members}), masks, takes_some)


def _field(name: str, kind: FieldKind) -> dict[str, Any]:
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise UsageError(
                f"schema: unknown kind `{kind}` of `{name}`; expected one of {', '.join(_KINDS)},"
                ' (dtype, shape) or a list of class names'
            )
        return {"kind": "image" if kind == "mask" else kind}
    if isinstance(kind, tuple) and len(kind) == 2 and not isinstance(kind[1], str):
        dtype = ARRAYS.get(str(getattr(kind[0], "__name__", kind[0])), str(kind[0]))
        if dtype not in ARRAYS.values():
            raise UsageError(f"schema: `{name}` is an array of {kind[0]}, which is not supported")
        shape = [int(side) for side in kind[1]]
        return {"kind": {"array": {"dtype": dtype, "shape": shape, "torch": False}}}
    names = list(kind)
    if not names or not all(isinstance(it, str) for it in names):
        raise UsageError(f"schema: the class names of `{name}` must be a non-empty list of str")
    if len(set(names)) < len(names):
        raise UsageError(f"schema: a class name of `{name}` occurs twice")
    return {"kind": "int", "class_names": names}


def of_sample(sample: Any, classes: Mapping[str, Sequence[str]] | None = None) -> Fields:
    """Return the fields of a sample, in its order.

    ``classes`` maps fields of integers to their class names.
    """
    if isinstance(sample, Mapping):
        named = {name: it for name, it in sample.items() if not str(name).startswith("__")}
    elif isinstance(sample, (tuple, list)):
        if len(sample) != 2:
            raise UsageError(
                f"schema: the first sample has {len(sample)} values; only pairs of image and label"
                " need no names: use dicts, or pass a schema with the names in order"
            )
        named = dict(zip(("image", "label"), sample, strict=True))
    elif _kind("image", sample) == "image":
        named = {"image": sample}
    else:
        raise UsageError(
            "schema: a sample must be a dict of its fields, a pair of image and label, or an image,"
            f" got {described(sample)}"
        )
    if not named:
        raise UsageError("schema: the first sample has no fields")
    kinds = {str(name): _kind(name, it) for name, it in named.items()}
    if "image" not in kinds.values() and "images" not in kinds.values():
        _refuse_names_of_images(named)
    for name, names in (classes or {}).items():
        if kinds.get(name) == "int":
            kinds[name] = list(names)
    return of_schema(kinds, takes_some=False)


def _refuse_names_of_images(named: Mapping[str, Any]) -> None:
    """Refuse texts that were probably meant to be the images of samples without any other."""
    for name, value in named.items():
        if isinstance(value, str) and value.lower().endswith(_IMAGE_ENDINGS):
            raise UsageError(
                f"schema: field `{name}` of the first sample is the text {value!r}: for the image in"
                f" that file pass a pathlib.Path; for the text pass schema={{{name!r}: 'text', ...}}"
            )


def _is_image(name: str, value: Any) -> bool:
    """Return whether an element of a list is an image; names of files are texts, and lists JSON."""
    if isinstance(value, (str, int, float, list, tuple)) or value is None:
        return False
    try:
        return _kind(name, value) == "image"
    except UsageError:
        return False


def _kind(name: str, value: Any) -> FieldKind:
    """Return the kind of a value."""
    if is_pillow(value) or isinstance(value, os.PathLike):
        return "image"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "image" if is_image(bytes(value)) else "bytes"
    if isinstance(value, Mapping) and {"bytes", "path"} >= set(value) and value:
        return "image"
    if isinstance(value, Mapping) and {"bytes", "codec", "width", "height"} == set(value):
        return "image"
    if isinstance(value, (list, tuple)) and value:
        return "images" if all(_is_image(name, it) for it in value) else "json"
    if isinstance(value, (Mapping, list, tuple)):
        return "json"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    array = _array_of(value)
    if array is None:
        raise UsageError(
            f"schema: field `{name}` of the first sample is {described(value)}, which fits no kind;"
            " pass a schema"
        )
    interface = array.__array_interface__
    dtype, shape = interface["typestr"], interface["shape"]
    if not shape:
        return "float" if dtype[1] == "f" else "int"
    if dtype == "|u1" and (len(shape) == 2 or len(shape) == 3 and shape[2] in (1, 3, 4)):
        return "image"
    if dtype == "|u1" and len(shape) == 3 and shape[0] in (1, 3, 4):
        # Refused later, with advice.
        return "image"
    return (dtype, shape)
