"""Fields and values from the features of a Hugging Face dataset.

Values become what a Parquet file of the same dataset holds.
"""

import base64
import copy
import datetime
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from fdconvert._fdconvert import is_image
from fdconvert._schema import ARRAYS, Documents, FieldKind
from fdconvert._values import Unfit

Convert: TypeAlias = Callable[[Any], Any]
"""Converts a value other than ``None``."""

_KINDS = [
    (("int", "uint", "bool", "time", "date", "duration"), "int"),
    (("float",), "float"),
    (("string", "large_string"), "text"),
    (("binary", "large_binary"), "bytes"),
]
"""Kinds of plain values, by the start of their type's name."""

_FILES = ("Image", "Audio", "Video", "Pdf", "Nifti")
"""Features whose values are files, decoded or not."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def of_features(
    features: Mapping[str, Any], first: Callable[[], Mapping[str, Any]] = dict
) -> dict[str, FieldKind | Documents]:
    """Return the kinds of the fields that the features describe.

    Bytes that may be images are classified by the ``first`` row.
    """
    # As in WebDataset, names with `__` describe the row and are not fields.
    kinds = {
        name: _kind_of_feature(feature)
        for name, feature in features.items()
        if not name.startswith("__")
    }
    unknown = [name for name in kinds if _may_be_image(features[name])]
    row = first() if unknown else {}
    for name in unknown:
        value = row.get(name)
        content = value.get("bytes") if isinstance(value, Mapping) else value
        kinds[name] = "image" if isinstance(content, bytes) and is_image(content) else "bytes"
    return kinds


def conversions(
    features: Mapping[str, Any], kinds: Mapping[str, FieldKind | Documents]
) -> dict[str, Convert]:
    """Return the conversions to Parquet's values by field, without fields that need none."""
    found = {}
    for name, kind in kinds.items():
        feature = features[name]
        convert: Convert | None
        if kind in ("image", "images") or isinstance(kind, list):
            convert = None
        elif isinstance(kind, tuple):
            convert = _array(kind[0])
        elif kind == "bytes":
            convert = None if type(feature).__name__ == "Value" else _content
        elif kind == "float":
            convert = None
        else:
            convert = _plain(feature)
        if convert is not None:
            found[name] = convert
    return found


class Rows:
    """A sequence of rows with some of their values converted."""

    def __init__(self, rows: Any, convert: Mapping[str, Convert]) -> None:
        self._rows, self._convert = rows, convert

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return converted(self._rows[index], self._convert)

    def __getitems__(self, indices: Any) -> list[dict[str, Any]]:
        return [converted(row, self._convert) for row in self._rows.__getitems__(indices)]


def converted(row: Mapping[str, Any], convert: Mapping[str, Convert]) -> dict[str, Any]:
    """Return the row with some of its values converted."""
    changed = {
        name: function(row[name])
        for name, function in convert.items()
        if row.get(name) is not None
    }
    return {**row, **changed}


def _kind_of_feature(feature: Any) -> FieldKind | Documents:
    kind = type(feature).__name__
    dtype = str(getattr(feature, "dtype", ""))
    if kind == "ClassLabel" and getattr(feature, "names", None):
        return list(feature.names)
    if kind == "Image":
        return "image"
    if _is_image_list(feature):
        return "images"
    if kind in ("ClassLabel", "Value"):
        return next((name for starts, name in _KINDS if dtype.startswith(starts)), "json")
    if _is_file(feature):
        return "bytes"
    if (array := _array_of_feature(feature)) is not None:
        return array
    members = _members(feature)
    return Documents(members) if members else "json"


def _is_image_list(feature: Any) -> bool:
    """Return whether values are lists of images, in the form of any version."""
    element = _element(feature)
    return element is not feature and type(element).__name__ == "Image"


def _is_file(feature: Any) -> bool:
    """Return whether values are dictionaries with a file's bytes and path."""
    if type(feature).__name__ in _FILES:
        return True
    names = set(feature) if isinstance(feature, Mapping) else set()
    return names == {"bytes", "path"} and _may_be_image(feature["bytes"])


def _may_be_image(feature: Any) -> bool:
    """Return whether values are bytes of unknown content."""
    if isinstance(feature, Mapping):
        return _is_file(feature)
    dtype = str(getattr(feature, "dtype", ""))
    return type(feature).__name__ == "Value" and dtype.startswith(("binary", "large_binary"))


def _array_of_feature(feature: Any) -> tuple[str, list[int]] | None:
    """Return type and shape of lists of numbers that have a fixed size; else ``None``."""
    shape: list[Any] = []
    while True:
        kind = type(feature).__name__
        if kind in ("Array2D", "Array3D", "Array4D", "Array5D"):
            shape.extend(feature.shape)
        elif kind in ("List", "LargeList", "Sequence"):
            shape.append(getattr(feature, "length", -1))
            feature = feature.feature
            continue
        elif kind != "Value":
            return None
        is_fixed = shape and all(isinstance(side, int) and side > 0 for side in shape)
        dtype = str(feature.dtype)
        return (dtype, shape) if is_fixed and dtype in ARRAYS else None


def _plain(feature: Any) -> Convert | None:
    """Return the conversion to a value that JSON can hold; ``None`` if none is needed."""
    kind = type(feature).__name__
    if kind == "Value":
        return _plain_value(str(feature.dtype))
    if isinstance(feature, Mapping):
        members = {name: convert for name, it in feature.items() if (convert := _plain(it))}
        return (lambda value: converted(value, members)) if members else None
    inner = _element(feature)
    if inner is feature or (convert := _plain(inner)) is None:
        return None
    if kind == "Sequence" and isinstance(inner, Mapping):
        return None

    def each(values: Any) -> list[Any]:
        return [None if value is None else convert(value) for value in values]

    return each


def _plain_value(dtype: str) -> Convert | None:
    name, _, rest = dtype.partition("[")
    unit = rest.rstrip("]").partition(",")[0]
    per_second = _PER_SECOND.get(unit, 1)
    if name == "duration":
        return lambda value: _in_units(value, per_second)
    if name.startswith(("date32", "date64")):
        return lambda value: (value - datetime.date(1970, 1, 1)).days
    # Parquet has no times in seconds: they are stored in milliseconds.
    per_second = max(per_second, 1000)
    if name == "timestamp":
        return lambda value: _in_units(_since_1970(value), per_second)
    if name.startswith("time"):
        return lambda value: _in_units(_since_midnight(value), per_second)
    if name.startswith("decimal"):
        return lambda value: format(value, "f")
    if name.startswith("float"):
        return lambda value: value if math.isfinite(value) else None
    if name.startswith(("binary", "large_binary")):
        return lambda value: base64.b64encode(value).decode()
    return None


def _since_1970(time: Any) -> Any:
    zone = None if time.tzinfo is None else datetime.UTC
    return time - datetime.datetime(1970, 1, 1, tzinfo=zone)


def _since_midnight(time: datetime.time) -> datetime.timedelta:
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return datetime.timedelta(seconds=seconds, microseconds=time.microsecond)


def _in_units(span: datetime.timedelta, per_second: int) -> int:
    # Pandas has nanoseconds, too.
    nanoseconds: int = getattr(span, "nanoseconds", 0)
    microseconds = (span.days * 86_400 + span.seconds) * 10**6 + span.microseconds
    return (microseconds * 1000 + nanoseconds) * per_second // 10**9


def _array(dtype: str) -> Convert:
    def array(value: Any) -> Any:
        import numpy

        found = numpy.asarray(value)
        # An array with None in it is refused later, with a better message.
        return value if found.dtype == object else found.astype(dtype)

    return array


def _content(value: Any) -> Any:
    """Return the bytes of a file."""
    if not isinstance(value, Mapping):
        return value
    if value.get("bytes") is not None:
        return value["bytes"]
    if value.get("path") is None:
        raise Unfit("a dict for a file needs `bytes` or `path`")
    return Path(value["path"]).read_bytes()


def _members(feature: Any) -> list[dict[str, Any]]:
    """Return the members of a struct of lists, or of a list of structs."""
    structure = _element(feature)
    if not isinstance(structure, Mapping):
        return []
    members = []
    for key, member in structure.items():
        while (inner := _element(member)) is not member:
            member = inner
        names = getattr(member, "names", None) if type(member).__name__ == "ClassLabel" else None
        is_single = getattr(member, "dtype", None) == "float32"
        members.append({"key": key, "class_names": names, "is_single": is_single})
    return members


def _element(feature: Any) -> Any:
    """Return the feature of a list's elements; other features unchanged."""
    if isinstance(feature, list) and len(feature) == 1:
        return feature[0]
    return getattr(feature, "feature", feature)


def _with_element(feature: Any, element: Any) -> Any:
    """Return a list feature with another element; the element itself for no list."""
    if isinstance(feature, list):
        return [element]
    if _element(feature) is feature:
        return element
    changed = copy.copy(feature)
    changed.feature = element
    return changed


def is_transformed(dataset: Any) -> bool:
    """Return whether a caller's function makes the rows, so that features do not describe them."""
    return (_format(dataset) or {}).get("type") == "custom"


def has_lost_features(samples: Any) -> bool:
    """Return whether this is a Hugging Face stream without features, as after ``map``."""
    is_of_it = type(samples).__module__.partition(".")[0] == "datasets"
    return is_of_it and hasattr(samples, "cast") and getattr(samples, "features", ()) is None


def _format(dataset: Any) -> Mapping[str, Any] | None:
    found = getattr(dataset, "format", None)
    return found if isinstance(found, Mapping) else None


def undecoded(dataset: Any) -> Any:
    """Return a Hugging Face dataset without decoding: files as bytes, rows as plain objects.

    It keeps the columns that the dataset's format shows.
    """
    shown = _format(dataset)
    if hasattr(dataset, "with_format"):
        dataset = dataset.with_format(None)
    if shown is not None and not shown.get("output_all_columns"):
        columns = [name for name in dataset.features if name in shown.get("columns", ())]
        if columns and len(columns) < len(dataset.features):
            dataset = dataset.select_columns(columns)
    for name, feature in dataset.features.items():
        file = _element(feature) if _is_image_list(feature) else feature
        if _is_file(file) and getattr(file, "decode", False):
            # A mode converts images, which then differ from their files.
            is_stored = getattr(file, "mode", None) is None
            if is_stored and hasattr(dataset, "cast_column"):
                stored = copy.copy(file)
                stored.decode = False
                dataset = dataset.cast_column(name, _with_element(feature, stored))
    return dataset
