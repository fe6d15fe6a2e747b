"""The options of ``Loader`` in the form of the engine: its groups, each as a few flat values."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from fdconvert._errors import UsageError
from fdconvert._exchange import exchange_of
from fdconvert._fdconvert import Dataset
from fdconvert._groups import (
    Cache,
    Cuda,
    Objects,
    Output,
    Prefetch,
    Quarantine,
    Ranks,
    Skip,
    Storage,
    Substitute,
)
from fdconvert._paths import StrPath

Source: TypeAlias = StrPath | Dataset
"""A path, or a dataset with the samples to load."""

Policy: TypeAlias = Skip | Substitute | Quarantine
"""What becomes of a sample that fails, other than an error."""

POLICIES: dict[str, type[Policy]] = {"skip": Skip, "substitute": Substitute, "quarantine": Quarantine}


def opened(dataset: Source) -> Dataset:
    """Return the dataset; open a path."""
    if isinstance(dataset, Dataset):
        return dataset
    if isinstance(dataset, (str, os.PathLike)):
        return Dataset(dataset)
    shown = type(dataset).__name__
    if isinstance(dataset, Mapping):
        cure = "; fdconvert.mix({...}) makes one of several by their shares"
    elif isinstance(dataset, Iterable):
        cure = (
            "; join several by fdconvert.concat([...]), or by fdconvert.mix({...}) with a share for "
            "each, and take a split by fdconvert.Dataset(path).split(name)"
        )
    else:
        cure = ""
    raise TypeError(f"dataset: a {shown} is neither a fdconvert.Dataset nor a path{cure}")


def errors_of(errors: Any) -> dict[str, Any]:
    """Return what becomes of samples that fail."""
    if errors == "raise":
        return {"on_error": "raise", "max_failures": Skip.max_failures}
    for name, policy in POLICIES.items():
        if isinstance(errors, policy):
            file = f":{errors.path}" if isinstance(errors, Quarantine) else ""
            return {"on_error": name + file, "max_failures": errors.max_failures}
    known = 'expected "raise", fdconvert.Skip(), fdconvert.Substitute() or fdconvert.Quarantine(path)'
    if isinstance(errors, str):
        kind, _, file = errors.partition(":")
        named = POLICIES.get(kind)
        if named is not None:
            argument = repr(file or "broken.jsonl") if named is Quarantine else ""
            known = f"write errors=fdconvert.{named.__name__}({argument})"
        raise UsageError(f"errors: unknown {errors!r}; {known}")
    raise TypeError(f"errors: {errors!r}; {known}")


def cache_of(cache: Any) -> dict[str, Any]:
    """Return what is kept in memory or in a folder."""
    if cache is not None and not isinstance(cache, Cache):
        cache = Cache(_number("cache", cache, "a number of bytes", "Cache"))
    if cache is None:
        none = {"cache_bytes": 0, "cache_folder": None, "ranks_per_cache": 1}
        return none | {"cache_policy": Cache.policy}
    return {
        "cache_bytes": cache.bytes,
        "cache_folder": cache.folder,
        "ranks_per_cache": cache.ranks_per_cache,
        "cache_policy": cache.policy,
    }


def prefetch_of(prefetch: Any) -> dict[str, Any]:
    """Return how far batches are made ahead."""
    if not isinstance(prefetch, Prefetch):
        prefetch = Prefetch(_number("prefetch", prefetch, "a number of batches", "Prefetch"))
    return {"prefetch": prefetch.batches, "prefetch_bytes": prefetch.bytes}


def storage_of(storage: Any) -> dict[str, Any]:
    """Return how samples are read."""
    if storage is None:
        storage = Storage()
    if not isinstance(storage, Storage):
        raise TypeError(f"storage: {storage!r} is no fdconvert.Storage")
    return {
        "access": storage.access,
        "fetch_threads": storage.fetch_threads,
        "ahead_bytes": storage.ahead_bytes,
        "retries": storage.retries,
        "verify": storage.verify,
    }


def objects_of(objects: Any) -> dict[str, Any]:
    """Return the field with objects, and what becomes of them."""
    if isinstance(objects, str):
        objects = Objects(objects)
    if objects is not None and not isinstance(objects, Objects):
        what = "is neither the name of a field nor an fdconvert.Objects"
        raise TypeError(f"objects: {objects!r} {what}")
    given = objects or Objects("")
    flip = given.keypoint_flip
    return {
        "objects": None if objects is None else given.field,
        "min_box": given.min_box,
        "keypoint_flip": None if flip is None else list(flip),
        "segmentations": given.segmentations,
    }


def ranks_of(ranks: Ranks, rank: int, world_size: int) -> dict[str, Any]:
    """Return the share of a process whose rank is known."""
    return {
        "rank": rank,
        "world_size": world_size,
        "last": ranks.last,
        "locality": ranks.locality,
        "exchange": exchange_of(ranks.exchange, rank, world_size),
    }


def cuda_of(device: Any) -> Cuda | None:
    """Return the GPU; ``None`` for the CPU."""
    if isinstance(device, Cuda):
        return device
    # Torch's devices print as the same names.
    name = "cpu" if device is None else str(device)
    if name == "cpu":
        return None
    kind, _, index = name.partition(":")
    if kind != "cuda" or not (index.isdecimal() or name == "cuda"):
        known = '"cpu", "cuda", "cuda:0" and so on, or an fdconvert.Cuda'
        raise UsageError(f"device: unknown `{device}`; expected one of {known}")
    return Cuda(int(index or 0))


def device_of(cuda: Cuda | None) -> dict[str, Any]:
    """Return the GPU's number, its decoder and its memory for images."""
    given = Cuda() if cuda is None else cuda
    return {
        "device": None if cuda is None else given.index,
        "decoder": given.decoder,
        "device_cache_bytes": given.cache_bytes,
    }


def output_of(output: Any) -> Output:
    """Return the type of a batch's arrays."""
    if isinstance(output, Output):
        return output
    if output not in ("auto", "numpy", "torch", "array"):
        known = '"auto", "numpy", "torch", "array", or an fdconvert.Output'
        raise UsageError(f"output: unknown {output!r}; expected one of {known}")
    return Output(output)


def _number(argument: str, value: Any, meaning: str, group: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{argument}: {value!r} is neither {meaning} nor an fdconvert.{group}")
    return int(value)
