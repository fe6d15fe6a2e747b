"""What ``pack`` takes for samples: sequences, which are read at random, and other iterables."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from fdconvert._errors import UsageError
from fdconvert._paths import StrPath
from fdconvert._schema import Fields, SchemaLike, of_features, of_sample, of_schema, undecoded


@dataclass
class Sequenced:
    """Any sample, by its position."""

    samples: Any
    name: str
    schema: SchemaLike | None = None
    """What the sequence itself says of its fields."""


@dataclass
class Streamed:
    """Samples one after another."""

    samples: Iterator[Any]
    name: str
    schema: SchemaLike | None = None
    """What the iterable itself says of its fields."""


class Columns:
    """A mapping of columns as a sequence of dictionaries."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"`{name}` {length}" for name, length in lengths.items())
            raise UsageError(f"sources: columns are of one length, and these are not: {found}")
        self._columns = columns
        self._length = next(iter(lengths.values()), 0)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in self._columns.items()}


def found_in(sources: Any) -> list[StrPath] | Sequenced | Streamed:
    """Paths, or samples."""
    if isinstance(sources, (str, os.PathLike)):
        return [sources]
    name = type(sources).__name__
    if isinstance(sources, Mapping):
        if any(_features_of(column) is not None for column in sources.values()):
            names = ", ".join(f"`{name}`" for name in sources)
            raise UsageError(f"sources: it has several datasets, {names}: pack each by itself")
        return Sequenced(Columns(sources), name)
    features = _features_of(sources)
    if _is_sequence(sources):
        if features is not None:
            return Sequenced(undecoded(sources), name, of_features(features))
        return list(sources) if _begins_with_a_path(sources) else Sequenced(sources, name)
    if features is not None:
        return Streamed(iter(undecoded(sources)), name, of_features(features))
    samples = iter(sources)
    for first in samples:
        samples = chain([first], samples)
        return list(samples) if _is_path(first) else Streamed(samples, name)
    return []


def _features_of(samples: Any) -> Mapping[str, Any] | None:
    """The features of a dataset of Hugging Face."""
    features = getattr(samples, "features", None)
    return features if isinstance(features, Mapping) else None


def _begins_with_a_path(sources: Any) -> bool:
    """Whether a sequence is one of paths; an empty one is."""
    if len(sources) == 0:
        return True
    try:
        return _is_path(sources[0])
    except Exception:
        # It is said, or skipped, when samples are packed.
        return False


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _is_sequence(sources: Any) -> bool:
    # torch's IterableDataset inherits a method that only raises.
    iterates = any(kind.__name__ == "IterableDataset" for kind in type(sources).__mro__)
    return not iterates and hasattr(sources, "__len__") and hasattr(sources, "__getitem__")


def fields_of(found: Sequenced | Streamed, schema: SchemaLike | None, first: Any) -> Fields:
    """The fields of samples: those of the caller, of the dataset, or of its first sample."""
    if schema is not None:
        return of_schema(schema)
    if found.schema is not None:
        return of_schema(found.schema, takes_some=False)
    return of_sample(first, _classes_of(found.samples))


def _classes_of(samples: Any) -> list[str]:
    """The class names that a dataset of torchvision has."""
    classes = getattr(samples, "classes", None)
    if not isinstance(classes, (list, tuple)) or not all(isinstance(it, str) for it in classes):
        return []
    return list(classes)
