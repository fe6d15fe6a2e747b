"""Edits of datasets of shards: each makes the next version."""

import os
from collections.abc import Iterable
from typing import Any

from fdconvert._commands import _run
from fdconvert._errors import UsageError
from fdconvert._options import Option, Progress
from fdconvert._paths import StrPath
from fdconvert._samples import found_in
from fdconvert._schema import SchemaLike
from fdconvert._writer import pack_samples


def append(
    dataset: StrPath,
    sources: Any,
    *,
    schema: SchemaLike | None = None,
    keep_versions: int = 1,
    on_error: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Option,
) -> dict[str, Any]:
    """Add samples to a dataset of shards, and return the report.

    This is ``fdconvert append DATASET SOURCES...``. ``sources`` is a path, a list of paths, or
    samples, as for ``pack``; ``options`` are those of ``pack``. Format, classes and, unless given
    here, the options about images are those of the dataset. The shards that are there are not read.

    ``keep_versions`` is the number of versions that can be read afterwards, as ``"DATASET@N"``; the
    new one counts.
    """
    named: dict[str, Option] = {
        "keep_versions": keep_versions,
        "on_error": on_error,
        "threads": threads,
    }
    found = found_in(sources)
    if not isinstance(found, list):
        return pack_samples(found, dataset, schema, named | options | {"append": True}, progress)
    if not found:
        raise UsageError("sources: empty; name what to add")
    if schema is not None:
        raise UsageError("schema: only for samples; datasets given by path have their own fields")
    return _run("append", [*found, dataset], named | options, progress)


def remove(
    dataset: StrPath,
    *,
    keys: StrPath | Iterable[str] | None = None,
    where: str | None = None,
    keep_versions: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Remove samples from a dataset of shards, and return the report.

    This is ``fdconvert remove DATASET``. ``keys`` is a list of keys or the path of a file with one a
    line; ``where`` is an expression. With both, the listed samples that match are removed. Only the
    shards that have them are written again, and their bytes are in no file afterwards, unless
    ``keep_versions`` keeps earlier versions.
    """
    listed: Option = keys if keys is None or isinstance(keys, (str, os.PathLike)) else list(keys)
    named: dict[str, Option] = {
        "keys": listed,
        "where": where,
        "keep_versions": keep_versions,
        "threads": threads,
    }
    return _run("remove", [dataset], named, progress)


def update(
    dataset: StrPath,
    labels: StrPath,
    *,
    keep_versions: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Change values of samples in a dataset of shards, and return the report.

    This is ``fdconvert update DATASET --labels TABLE``. The first column of the table (``.csv``,
    ``.tsv``, ``.jsonl``) has keys of the dataset, the others have fields. Samples that it does not
    list keep their values. Only the shards with a changed sample are written again; a new column or
    a new class changes all shards.
    """
    named: dict[str, Option] = {
        "labels": labels,
        "keep_versions": keep_versions,
        "threads": threads,
    }
    return _run("update", [dataset], named, progress)


def log(dataset: StrPath) -> dict[str, Any]:
    """Return what made each version of a dataset, and when.

    ``["versions"]`` is empty for a dataset that was never edited; ``["open"]`` lists the versions
    that can be read, the last one as ``DATASET`` and others as ``DATASET@N``.
    """
    return _run("log", [dataset], {}, None)
