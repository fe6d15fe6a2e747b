"""The commands as functions: keyword arguments become the options of the same names."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from fdconvert import _fdconvert
from fdconvert._errors import UsageError
from fdconvert._options import Option, Progress, given
from fdconvert._paths import StrPath
from fdconvert._samples import found_in
from fdconvert._schema import SchemaLike
from fdconvert._writer import pack_samples


def pack(
    sources: Any,
    out: StrPath,
    *,
    schema: SchemaLike | None = None,
    format: str | None = None,
    labels: StrPath | None = None,
    encode: str | None = None,
    jpeg_quality: int | None = None,
    max_side: int | None = None,
    short_side: int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    split: Mapping[str, float | str] | None = None,
    shard_size: int | str | None = None,
    shards: int | None = None,
    on_error: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Option,
) -> dict[str, Any]:
    """Pack sources, or samples that the program has, into a dataset and return the report.

    This is ``fdconvert pack SOURCES... OUT``; ``fdconvert pack --help`` explains every option, and
    ``docs/json.md`` the report. Options that are not named here are given as ``options``, with
    ``_`` for ``-``: ``page_size="16MiB"``, ``compact=True``, ``pair={"mask": "annotations"}``.
    The report's ``skipped`` lists samples that were left out with ``on_error="skip"``.

    ``sources`` is a path or several; or samples: a sequence of dictionaries or of pairs of image
    and label, such as a dataset of torch or Hugging Face, a mapping of columns such as arrays, or
    any other iterable. ``schema`` names their fields and what they hold; without it the dataset or
    the first sample does.
    """
    named: dict[str, Option] = {
        "format": format,
        "labels": labels,
        "encode": encode,
        "jpeg_quality": jpeg_quality,
        "max_side": max_side,
        "short_side": short_side,
        "shuffle": shuffle,
        "seed": seed,
        "split": split,
        "shard_size": shard_size,
        "shards": shards,
        "on_error": on_error,
        "overwrite": overwrite,
        "threads": threads,
    }
    found = found_in(sources)
    if not isinstance(found, list):
        return pack_samples(found, out, schema, named | options, progress)
    if not found:
        raise UsageError("sources: it is empty, and a dataset has at least one sample")
    if schema is not None:
        raise UsageError("schema: it is for samples; datasets with a path have their own fields")
    return _run("pack", [*found, out], named | options, progress)


def plan(
    sources: StrPath | Iterable[StrPath],
    output: StrPath,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Option,
) -> dict[str, Any]:
    """Fix order, shards and options of a dataset that several processes will write.

    This is ``fdconvert plan SOURCES... -o OUTPUT``; ``options`` are those of ``pack`` that shape the
    dataset. ``pack_plan`` carries the plan out.
    """
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    named: dict[str, Option] = {"overwrite": overwrite}
    return _run("plan", [*paths, output], named | options, progress)


def pack_plan(
    plan: StrPath,
    out: StrPath,
    *,
    part: str | None = None,
    parts: int | None = None,
    on_error: str | None = None,
    max_failures: int | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    threads: int | None = None,
    buffer: int | str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write what a plan says, or a share of it, and return the report.

    This is ``fdconvert pack --plan PLAN OUT``. ``part`` is ``"1/4"``, or ``"auto"`` for the one that
    the launcher of this process gives it; ``merge`` completes the dataset after all parts.
    """
    named: dict[str, Option] = {
        "part": part,
        "parts": parts,
        "on_error": on_error,
        "max_failures": max_failures,
        "overwrite": overwrite,
        "dry_run": dry_run,
        "threads": threads,
        "buffer": buffer,
    }
    return _run("pack_plan", [plan, out], named, progress)


def merge(
    out: StrPath, *, plan: StrPath | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Complete a dataset whose parts are all packed and return what was merged."""
    return _run("merge", [out] if plan is None else [plan, out], {}, progress)


def unpack(
    path: StrPath,
    out: StrPath,
    *,
    split: str | Iterable[str] | None = None,
    on_error: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a dataset's images back as files in class folders and return the report.

    ``split`` names the split that is written, or several; by default all are.
    """
    named: dict[str, Option] = {"split": split, "on_error": on_error, "threads": threads}
    return _run("unpack", [path, out], named, progress)


def inspect(
    path: StrPath,
    *,
    split: str | Iterable[str] | None = None,
    samples: int = 0,
    hash: bool = False,
) -> dict[str, Any]:
    """Tell what is in a dataset and how it was made; ``first`` lists the first ``samples``.

    With ``hash``, all samples are read, and ``root_hash`` is the hash of what they hold: equal for
    datasets of the same samples in the same order, whatever their formats.
    """
    return _run("inspect", [path], {"split": split, "samples": samples, "hash": hash}, None)


def verify(
    path: StrPath,
    *,
    split: str | Iterable[str] | None = None,
    deep: bool = False,
    max_pixels: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Check a dataset for damage, with ``deep`` by decoding every image too.

    What is wrong is listed in ``problems``, each with its ``error`` and, when it is about one
    sample, ``index`` and ``key``; ``damage`` is false for a sound image of a kind that is not
    decoded. ``problems_left_out`` counts those beyond 100,000. Damage is a result here, no
    exception.
    """
    named: dict[str, Option] = {
        "split": split,
        "deep": deep,
        "max_pixels": max_pixels,
        "threads": threads,
    }
    return _run("verify", [path], named, progress)


def diff(
    first: StrPath,
    second: StrPath,
    *,
    split: str | Iterable[str] | None = None,
    pixels: bool = False,
    max_pixels: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compare two datasets by keys and contents, with ``pixels`` images by what they show.

    ``changed`` lists samples that both have and that differ, ``only_in_first`` and
    ``only_in_second`` those of one alone; ``changed_left_out`` counts changed ones beyond 100,000.
    Differences are a result here, no exception.
    """
    named: dict[str, Option] = {
        "split": split,
        "pixels": pixels,
        "max_pixels": max_pixels,
        "threads": threads,
    }
    return _run("diff", [first, second], named, progress)


def stats(
    path: StrPath,
    *,
    split: str | Iterable[str] | None = None,
    pixels: bool = False,
    html: StrPath | None = None,
    overwrite: bool = False,
    max_pixels: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Count classes, codecs and sizes; with ``pixels`` also mean and deviation of the channels.

    ``["pixels"]["mean"]`` and ``["pixels"]["std"]`` are red, green and blue over all pixels of all
    images, from 0 to 1, for normalisation. ``html`` writes a page with histograms. Samples that
    cannot be read are counted, and raise nothing.
    """
    named: dict[str, Option] = {
        "split": split,
        "pixels": pixels,
        "html": html,
        "overwrite": overwrite,
        "max_pixels": max_pixels,
        "threads": threads,
    }
    return _run("stats", [path], named, progress)


def sheet(
    path: StrPath,
    out: StrPath,
    *,
    split: str | Iterable[str] | None = None,
    count: int = 100,
    side: int = 128,
    columns: int | None = None,
    seed: int | None = None,
    where: str | None = None,
    overwrite: bool = False,
    max_pixels: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a PNG with many images of a dataset, small.

    These are the first ``count`` samples, or with ``seed`` others that are drawn at random. The same
    arguments give the same bytes. Samples that cannot be read are crosses, and listed.
    """
    named: dict[str, Option] = {
        "split": split,
        "count": count,
        "side": side,
        "columns": columns,
        "seed": seed,
        "where": where,
        "overwrite": overwrite,
        "max_pixels": max_pixels,
        "threads": threads,
    }
    return _run("sheet", [path, out], named, progress)


def find_duplicates(
    paths: StrPath | Iterable[StrPath],
    *,
    split: str | Iterable[str] | None = None,
    near: bool = False,
    distance: int | None = None,
    keys: StrPath | None = None,
    overwrite: bool = False,
    max_pixels: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Find samples with equal images, within and across datasets.

    Images are equal when their stored bytes are; with ``near`` also when they show the same, encoded
    again or of another size. ``["groups"]`` lists them. ``keys`` writes the keys of the samples to
    keep, for ``pack(..., keys=...)``. Duplicates are a result here, no exception.
    """
    datasets = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    named: dict[str, Option] = {
        "split": split,
        "near": near,
        "distance": distance,
        "keys": keys,
        "overwrite": overwrite,
        "max_pixels": max_pixels,
        "threads": threads,
    }
    return _run("find_duplicates", datasets, named, progress)


def profile(
    source: StrPath,
    *,
    target: StrPath | None = None,
    threads: int | None = None,
    fetch_threads: int | None = None,
    cache: int | str | None = None,
    formats: Iterable[str] | None = None,
    throttle_read: int | str | None = None,
    samples: int | None = None,
    verify: str | None = None,
    runs: int | None = None,
    seconds: float | None = None,
    output: StrPath | None = None,
    report: StrPath | None = None,
    progress: Progress | None = None,
    **options: Option,
) -> dict[str, Any]:
    """Find the fastest mix of PNG/JPEG and BMP for this machine.

    ``["solution"]["chosen"]["share"]`` of the profile is that share, for ``pack(...,
    format="mixed", ratio=share)``; ``output`` writes the profile for ``ratio=PATH``, ``report`` a
    page for people. ``fdconvert profile --help`` explains every option.
    """
    named: dict[str, Option] = {
        "target": target,
        "threads": threads,
        "fetch_threads": fetch_threads,
        "cache": cache,
        "formats": formats,
        "throttle_read": throttle_read,
        "samples": samples,
        "verify": verify,
        "runs": runs,
        "seconds": seconds,
        "output": output,
        "report": report,
    }
    return _run("profile", [source], named | options, progress)


def _run(
    command: str,
    paths: Iterable[StrPath],
    options: Mapping[str, Option],
    progress: Progress | None,
) -> dict[str, Any]:
    paths = [os.fspath(path) for path in paths]
    document: dict[str, Any] = json.loads(
        _fdconvert.call(command, paths, json.dumps(given(options)), progress)
    )
    return document
