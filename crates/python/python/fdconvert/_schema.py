"""Fields of samples: as the caller gives them, as a dataset has them, or as the first sample is."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fdconvert._errors import UsageError
from fdconvert._fdconvert import is_image
from fdconvert._values import _array_of, described, is_pillow

FieldKind: TypeAlias = str | tuple[Any, Sequence[int]] | Sequence[str]
"""``"image"``, ``"mask"``, ``"int"``, ``"float"``, ``"text"``, ``"json"``, ``"bytes"``, an array as
``("float32", (512,))``, or the class names of a label."""

SchemaLike: TypeAlias = Mapping[str, FieldKind]

_KINDS = ("image", "mask", "int", "float", "text", "json", "bytes")
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
    """The kind of a field of JSON whose members a dataset of Hugging Face tells."""

    members: list[dict[str, Any]]
    """Key, names of classes and precision of each, as the compiled module takes them."""


@dataclass(frozen=True)
class Fields:
    """A schema for the compiled module."""

    document: str
    """As JSON documents have schemas."""
    masks: list[int]
    """Positions of fields whose images are labels."""
    takes_some: bool
    """Samples may have more fields, which are left out."""


def of_schema(
    schema: SchemaLike | Mapping[str, FieldKind | Documents], takes_some: bool = True
) -> Fields:
    """The fields that the caller names."""
    fields, masks, members = [], [], {}
    if not isinstance(schema, Mapping):
        raise UsageError("schema: it is a dict of names and kinds")
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
                f"schema: `{name}` is `{kind}`, and kinds are {', '.join(_KINDS)},"
                ' (dtype, shape) and lists of class names'
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
        raise UsageError(f"schema: the class names of `{name}` are not texts")
    if len(set(names)) < len(names):
        raise UsageError(f"schema: a class name of `{name}` occurs twice")
    return {"kind": "int", "class_names": names}


def of_sample(sample: Any, classes: Mapping[str, Sequence[str]] | None = None) -> Fields:
    """The fields that a sample has: names and kinds, in its order. Integers are numbers of
    ``classes``, where there are any of that field."""
    if isinstance(sample, Mapping):
        named = {name: it for name, it in sample.items() if not str(name).startswith("__")}
    elif isinstance(sample, (tuple, list)):
        if len(sample) != 2:
            raise UsageError(
                f"schema: the first sample has {len(sample)} values; only pairs of image and label"
                " need no names: give a schema, whose fields they become in order, or dicts"
            )
        named = dict(zip(("image", "label"), sample, strict=True))
    elif _kind("image", sample) == "image":
        named = {"image": sample}
    else:
        raise UsageError(
            "schema: a sample is a dict of its fields, a pair of image and label, or an image, and"
            f" the first one is {described(sample)}"
        )
    if not named:
        raise UsageError("schema: the first sample has no fields")
    kinds = {str(name): _kind(name, it) for name, it in named.items()}
    for name, names in (classes or {}).items():
        if kinds.get(name) == "int":
            kinds[name] = list(names)
    return of_schema(kinds, takes_some=False)


def _kind(name: str, value: Any) -> FieldKind:
    """The kind that a value is of."""
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
    if isinstance(value, (Mapping, list, tuple)):
        return "json"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    array = _array_of(value)
    if array is None:
        raise UsageError(
            f"schema: field `{name}` of the first sample is {described(value)}, which has no kind;"
            " give a schema"
        )
    interface = array.__array_interface__
    dtype, shape = interface["typestr"], interface["shape"]
    if not shape:
        return "float" if dtype[1] == "f" else "int"
    if dtype == "|u1" and (len(shape) == 2 or len(shape) == 3 and shape[2] in (1, 3, 4)):
        return "image"
    if dtype == "|u1" and len(shape) == 3 and shape[0] in (1, 3, 4):
        # Refused with its cure when it is looked at.
        return "image"
    return (dtype, shape)
