"""Samples for ``pack``: sequences, which have random access, and other iterables."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from fdconvert._errors import UsageError
from fdconvert._features import (
    Convert,
    Rows,
    conversions,
    converted,
    has_lost_features,
    is_transformed,
    of_features,
    undecoded,
)
from fdconvert._paths import StrPath
from fdconvert._schema import Documents, FieldKind, Fields, SchemaLike, of_sample, of_schema


@dataclass
class Sequenced:
    """Samples with random access."""

    samples: Any
    name: str
    schema: Mapping[str, FieldKind | Documents] | None = None
    """The fields, if the sequence describes them."""
    convert: Mapping[str, Convert] = field(default_factory=dict)
    """Conversions of values, by field."""

    def converted(self) -> Any:
        """Return the samples with values converted for ``schema``."""
        return Rows(self.samples, self.convert) if self.convert else self.samples


@dataclass
class Streamed:
    """Samples that come one at a time."""

    samples: Iterator[Any]
    name: str
    schema: Mapping[str, FieldKind | Documents] | None = None
    """The fields, if the iterable describes them."""
    convert: Mapping[str, Convert] = field(default_factory=dict)
    """Conversions of values, by field."""

    def converted(self) -> Iterator[Any]:
        """Return the samples with values converted for ``schema``."""
        if not self.convert:
            return self.samples
        return (converted(sample, self.convert) for sample in self.samples)


class Columns:
    """A mapping of columns as a sequence of dictionaries."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"`{name}` {length}" for name, length in lengths.items())
            raise UsageError(f"sources: columns must have the same length, got {found}")
        self._columns = columns
        self._length = next(iter(lengths.values()), 0)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in self._columns.items()}


def found_in(sources: Any) -> list[StrPath] | Sequenced | Streamed:
    """Return the sources as paths or as samples."""
    if isinstance(sources, (str, os.PathLike)):
        return [sources]
    name = type(sources).__name__
    if isinstance(sources, Mapping):
        if any(_features_of(column) is not None for column in sources.values()):
            names = ", ".join(f"`{name}`" for name in sources)
            raise UsageError(f"sources: several datasets, {names}: pack each by itself")
        return Sequenced(Columns(sources), name)
    sources = _selected(sources)
    is_known = _features_of(sources) is not None and not is_transformed(sources)
    if _is_sequence(sources):
        if is_known:
            rows = undecoded(sources)
            kinds = of_features(rows.features, lambda: rows[0] if len(rows) > 0 else {})
            return Sequenced(rows, name, kinds, conversions(rows.features, kinds))
        return list(sources) if _begins_with_a_path(sources) else Sequenced(sources, name)
    if is_known:
        rows = undecoded(sources)
        samples = iter(rows)

        def first() -> Any:
            nonlocal samples
            for row in samples:
                samples = chain([row], samples)
                return row
            return {}

        kinds = of_features(rows.features, first)
        return Streamed(samples, name, kinds, conversions(rows.features, kinds))
    if has_lost_features(sources):
        what = (
            "sources: this stream has no features, as after `map`: images are packed as decoded"
            " pixels, labels without class names; to keep both, call"
            " `cast_column(NAME, Image(decode=False))` before `map` and `cast(FEATURES)` after it"
        )
        warnings.warn(what, RuntimeWarning, stacklevel=3)
    samples = iter(sources)
    for first in samples:
        samples = chain([first], samples)
        return list(samples) if _is_path(first) else Streamed(samples, name)
    return []


def _features_of(samples: Any) -> Mapping[str, Any] | None:
    """Return the features of a Hugging Face dataset; ``None`` for anything else."""
    features = getattr(samples, "features", None)
    return features if isinstance(features, Mapping) else None


def _selected(samples: Any) -> Any:
    """Turn torch's ``Subset`` of a Hugging Face dataset into a Hugging Face dataset.

    Its images then stay undecoded, and its classes keep their names.
    """
    inner = _inner(samples, "Subset", "dataset")
    if _features_of(inner) is None or not hasattr(inner, "select") or is_transformed(inner):
        return samples
    return inner.select(list(samples.indices))


def _inner(samples: Any, kind: str, name: str) -> Any:
    """Return the attribute ``name`` of a torch dataset of class ``kind``, else ``None``."""
    is_it = any(it.__name__ == kind for it in type(samples).__mro__)
    return getattr(samples, name, None) if is_it else None


def _begins_with_a_path(sources: Any) -> bool:
    """Return whether a sequence holds paths, or is empty."""
    if len(sources) == 0:
        return True
    try:
        return _is_path(sources[0])
    except Exception:
        # Packing reports or skips this sample.
        return False


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _is_sequence(sources: Any) -> bool:
    # torch's IterableDataset inherits a `__getitem__` that only raises.
    iterates = any(kind.__name__ == "IterableDataset" for kind in type(sources).__mro__)
    return not iterates and hasattr(sources, "__len__") and hasattr(sources, "__getitem__")


def fields_of(found: Sequenced | Streamed, schema: SchemaLike | None, first: Any) -> Fields:
    """Return the fields of samples: the caller's, the dataset's, or the first sample's."""
    if schema is not None:
        return of_schema(schema)
    if found.schema is not None:
        return of_schema(found.schema, takes_some=False)
    return of_sample(first, _classes_of(found.samples, isinstance(first, (tuple, list))))


def _classes_of(samples: Any, of_pairs: bool) -> dict[str, list[str]]:
    """Return the class names of a torchvision or Hugging Face dataset, or of the datasets it wraps.

    ``of_pairs`` means that samples are pairs of image and label.
    """
    if (inner := _inner(samples, "Subset", "dataset")) is not None:
        return _classes_of(inner, of_pairs)
    if (several := _inner(samples, "ConcatDataset", "datasets")) is not None:
        found = [_classes_of(it, of_pairs) for it in several]
        for position, other in enumerate(found):
            for name in other.keys() & found[0].keys():
                if other[name] != found[0][name]:
                    raise UsageError(
                        f"sources: dataset {position} has other classes of `{name}` than dataset 0,"
                        f" {_listed(other[name])} and {_listed(found[0][name])}, so that one number"
                        " would mean two classes: pack each dataset, then pack the results together"
                    )
        return found[0] if found and all(it.keys() == found[0].keys() for it in found) else {}
    features = _features_of(samples)
    if features is not None:
        kinds = {} if is_transformed(samples) else of_features(features)
        return {name: kind for name, kind in kinds.items() if isinstance(kind, list)}
    classes = getattr(samples, "classes", None)
    if not of_pairs or not isinstance(classes, (list, tuple)):
        return {}
    return {"label": list(classes)} if all(isinstance(it, str) for it in classes) else {}


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
