"""The commands as functions: keyword arguments are options of the same names."""

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
    """Pack files or samples into a dataset and return the report.

    This is ``fdconvert pack SOURCES... OUT``. ``fdconvert pack --help`` explains every option.
    Options without a parameter of their own go into ``options``, with ``_`` for ``-``:
    ``page_size="16MiB"``, ``compact=True``, ``pair={"mask": "annotations"}``.

    ``sources`` is a path, a list of paths, or samples. Samples are a sequence of dictionaries or of
    pairs of image and label, such as a dataset of torch or Hugging Face; a mapping of columns; or
    any other iterable of samples. ``schema`` maps the names of their fields to kinds; by default it
    comes from the dataset or its first sample.

    ``docs/json.md`` describes the report. Its ``skipped`` lists the samples that
    ``on_error="skip"`` left out.
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
        raise UsageError("sources: empty; a dataset needs at least one sample")
    if schema is not None:
        raise UsageError("schema: only for samples; datasets given by path have their own fields")
    return _run("pack", [*found, out], named | options, progress)


def plan(
    sources: StrPath | Iterable[StrPath],
    output: StrPath,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Option,
) -> dict[str, Any]:
    """Plan the order, shards and options of a dataset that several processes will write.

    This is ``fdconvert plan SOURCES... -o OUTPUT``. ``options`` are the options of ``pack`` that
    shape the dataset. ``pack_plan`` carries out the plan.
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
    """Carry out a plan, or one part of it, and return the report.

    This is ``fdconvert pack --plan PLAN OUT``. ``part`` is ``"1/4"`` for the first of four, or
    ``"auto"`` for the part that the launcher assigns to this process. After the last part, ``merge``
    completes the dataset.
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
    """Complete a dataset after all its parts are packed, and return the report.

    ``plan`` is the plan, by default the copy that the parts left in ``out``.
    """
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
    """Write a dataset's images to files in class folders and return the report.

    ``split`` is the name of a split or a list of names; by default all splits are written.
    """
    named: dict[str, Option] = {"split": split, "on_error": on_error, "threads": threads}
    return _run("unpack", [path, out], named, progress)


def convert(
    sources: StrPath | Iterable[StrPath],
    out: StrPath,
    to: str,
    *,
    images: str | None = None,
    task: str | None = None,
    labels: StrPath | None = None,
    on_error: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Option,
) -> dict[str, Any]:
    """Write annotations in the layout of another tool and return the report.

    This is ``fdconvert pack SOURCES... OUT --format folder --annotations TO``. ``sources`` is a file
    of annotations, such as ``instances.json`` or ``data.yaml``, a folder, or a packed dataset, or a
    list of these. ``to`` is ``"coco"``, ``"yolo"``, ``"voc"``, ``"csv"`` or ``"jsonl"``, the
    imagefolder of Hugging Face. ``images`` is ``"keep"``, ``"link"`` or ``"none"``, and ``task`` what
    YOLO gets: ``"detect"``, ``"segment"``, ``"pose"`` or ``"obb"``. Further options are those of
    ``pack``: ``map_labels="car,truck=vehicle;*=drop"``, ``where="n_objects > 0"``. What ``to`` cannot
    say is counted in ``remarks`` of the report; with ``strict=True`` it is an error.
    """
    named: dict[str, Option] = {
        "format": "folder",
        "annotations": to,
        "images": images,
        "task": task,
        "labels": labels,
        "on_error": on_error,
        "overwrite": overwrite,
        "threads": threads,
    }
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    return _run("pack", [*paths, out], named | options, progress)


def inspect(
    path: StrPath,
    *,
    split: str | Iterable[str] | None = None,
    samples: int = 0,
    hash: bool = False,
) -> dict[str, Any]:
    """Describe a dataset and how it was made.

    ``samples`` is the number of samples to list in ``["first"]``. ``hash`` reads all samples and
    adds ``["root_hash"]``, a hash of their contents: datasets with the same samples in the same order
    have the same hash in every format.
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
    """Check a dataset for damage; ``deep`` also decodes every image.

    Damage raises no exception. ``["problems"]`` lists up to 100,000 problems, each with its ``error``
    and, if it concerns one sample, ``index`` and ``key``; ``["problems_left_out"]`` counts the rest.
    A problem's ``damage`` is false for an intact image of a kind that cannot be decoded.
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
    """Compare two datasets by keys and contents; ``pixels`` compares decoded images.

    Differences raise no exception. ``["changed"]`` lists up to 100,000 samples that are in both
    datasets and differ, and ``["changed_left_out"]`` counts the rest. ``["only_in_first"]`` and
    ``["only_in_second"]`` list the samples of one dataset alone.
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
    """Count classes, codecs and sizes; ``pixels`` also decodes all images.

    ``pixels`` adds ``["pixels"]["mean"]`` and ``["pixels"]["std"]``: red, green and blue over all
    pixels of all images, from 0 to 1, for normalisation. ``html`` is the path of a page with
    histograms to write. Samples that cannot be read are counted and raise no exception.
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
    """Write a contact sheet: a PNG with thumbnails of a dataset.

    It shows the first ``count`` samples, or ``count`` random ones drawn by ``seed``. ``side`` is the
    longer side of each thumbnail in pixels, at most. The same arguments give the same bytes. Samples
    that cannot be read are drawn as crosses and listed in the result.
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

    Images are equal if their stored bytes are. ``near`` also finds images that look the same after
    they were encoded again or resized. ``["groups"]`` lists the duplicates. ``keys`` is the path of a
    file for the keys of the samples to keep, for ``pack(..., keys=...)``. Duplicates raise no
    exception.
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

    ``["solution"]["chosen"]["share"]`` of the result is the share of BMP, for ``pack(...,
    format="mixed", ratio=share)``. ``output`` is the path of a profile to write, for ``ratio=PATH``,
    and ``report`` the path of a readable page. ``fdconvert profile --help`` explains every option.
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
