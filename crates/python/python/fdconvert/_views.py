"""The views of an image that batches have, and the Python functions that change them."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from fdconvert._errors import UsageError
from fdconvert.transforms import Function, Transform, default
from fdconvert.transforms._lists import compiled, is_bfloat16

Views: TypeAlias = int | Mapping[str, tuple[int, Sequence[Transform]]]
"""Number of draws from ``transform``, or the number and the list of each group by its name."""

ONLY = "images"
"""Name of a group that has no other beside it."""


@dataclass(frozen=True, slots=True)
class ViewGroup:
    """Views that are drawn from one list."""

    name: str
    n_views: int
    transform: list[Transform]
    is_bfloat16: bool
    spec: str
    functions: list[Function]

    def shown(self) -> list[Any]:
        """Return the number of views and the list, for people and JSON."""
        functions = [{"Function": _name_of(it.function)} for it in self.functions]
        return [self.n_views, json.loads(self.spec) + functions]


def _name_of(function: Callable[[Any], Any]) -> str:
    """Return a name that is the same in every process."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def groups_of(transform: Iterable[Transform] | None, views: Views | None) -> list[ViewGroup]:
    """Return the groups of a loader."""
    if isinstance(views, Mapping):
        if transform is not None:
            raise UsageError("transform: `views` has a list for each group; leave `transform` out")
        if not views:
            raise UsageError("views: it names no group; leave it out for one view")
        return [_group(name, *_pair(name, value)) for name, value in views.items()]
    if isinstance(views, bool) or not (views is None or hasattr(views, "__index__")):
        what = f"{views!r} is neither a number nor a dictionary of (number, list)"
        raise UsageError(f"views: {what}")
    listed = default() if transform is None else transform
    return [_group(ONLY, 1 if views is None else views, listed)]


def _pair(name: Any, value: Any) -> tuple[int, Sequence[Transform]]:
    if not isinstance(name, str) or not name:
        raise UsageError(f"views: {name!r} is no name of a group")
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not hasattr(value[0], "__index__"):
        raise UsageError(f"views: {name!r} has {value!r}; expected (number, list of transforms)")
    number, listed = value
    return number, listed


def _group(name: str, n_views: int, listed: Iterable[Transform]) -> ViewGroup:
    if isinstance(listed, Transform):
        raise UsageError(f"transform: {listed!r} is one transform; give a list, even of one")
    if not isinstance(listed, Iterable):
        raise UsageError(f"transform: {listed!r} is no list of fdconvert.transforms")
    listed = list(listed)
    if not 0 <= n_views < 1 << 31:
        raise UsageError(f"views: {n_views} of `{name}` is out of range")
    return ViewGroup(name, n_views, listed, is_bfloat16(listed), *compiled(listed))


def lists_of(groups: Sequence[ViewGroup]) -> Views:
    """Return the number and the list of each group, which may have come from an iterator."""
    return {group.name: (group.n_views, group.transform) for group in groups}


ON_GPU = {
    "CenterCrop",
    "Cover",
    "Normalize",
    "RandomCrop",
    "RandomEqualize",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomSolarize",
    "Resize",
    "ScaleJitter",
    "ToDtype",
    "ToLayout",
}
LISTS = {"RandomApply", "RandomChoice", "RandomOrder"}


def not_on_gpu(groups: Sequence[ViewGroup]) -> list[str]:
    """Return the names of the transforms that a GPU leaves to the CPU, each once."""

    def names(specs: list[dict[str, Any]]) -> Iterator[str]:
        for spec in specs:
            for name, arguments in spec.items():
                if name in LISTS:
                    yield from names(arguments["transforms"])
                elif name not in ON_GPU:
                    yield name

    return list(dict.fromkeys(name for group in groups for name in names(json.loads(group.spec))))


def masks_of(masks: Sequence[str] | Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the fields that are masks, with the value around each."""
    if isinstance(masks, str):
        raise TypeError('masks: give a list of names, even of one: ["NAME"]')
    if not isinstance(masks, Mapping):
        return [(name, 0) for name in masks]
    for name, fill in masks.items():
        if isinstance(fill, bool) or not hasattr(fill, "__index__") or not 0 <= fill < 1 << 16:
            raise UsageError(f"masks: {fill!r} around `{name}` is not a level, 0 to 65535")
    return list(masks.items())


def by_group(groups: Sequence[ViewGroup], views: Sequence[Any]) -> Any:
    """Return what belongs to views by the group: a list for each one with several views."""
    each = iter(views)
    found = {}
    for group in groups:
        listed = [next(each) for _ in range(group.n_views)]
        found[group.name] = listed[0] if group.n_views == 1 else listed
    return found[ONLY] if list(found) == [ONLY] else found


class Functions:
    """The functions at the end of the lists, and the time that they took."""

    def __init__(self, groups: Sequence[ViewGroup], view_layout: str) -> None:
        self._groups = [group for group in groups if group.functions]
        self.are_seeded = any(it.seeded for group in self._groups for it in group.functions)
        self._has_rows_first = view_layout == "rows"
        # Views are numbered through all groups.
        n_views = [group.n_views for group in groups]
        firsts = [sum(n_views[:number]) for number in range(len(groups))]
        self._views = {it.name: range(first, first + it.n_views) for it, first in zip(groups, firsts, strict=True)}
        self._bfloat16 = [group.name for group in groups if group.is_bfloat16]
        # By the number of threads, and the process that has them: a forked one has none.
        self._pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
        self.seconds = 0.0

    def apply(
        self, images: dict[str, Any], convert: Callable[[Any], Any], rows: Sequence[tuple[int, ...]]
    ) -> dict[str, Any]:
        """Return the images as arrays of the loader's kind, changed by the functions of their groups.

        ``rows`` has what the seeds of each row follow from.
        """
        began = time.perf_counter()
        for group in self._groups:
            of_rows = [it for it in group.functions if not it.batch]
            if of_rows:
                self._of_rows(of_rows, images[group.name], group.n_views, self._seeds(group, rows))
        found = {name: convert(array) for name, array in images.items()}
        for name in self._bfloat16:
            # Its bits came as whole numbers.
            import torch

            name = "patches" if name not in found else name
            bits: Any = found[name]
            if isinstance(bits, list):
                found[name] = [row.view(torch.bfloat16) for row in bits]
            else:
                found[name] = bits.view(torch.bfloat16)
        for group in self._groups:
            for function in (it for it in group.functions if it.batch):
                seeds = [self._seeds(group, rows)] if function.seeded else []
                changed = function.function(found[group.name], *seeds)
                if changed is not None:
                    found[group.name] = changed
        if self._groups:
            self.seconds += time.perf_counter() - began
        return found

    def _seeds(self, group: ViewGroup, rows: Sequence[tuple[int, ...]]) -> list[int]:
        """Return a number for each row of each view, in the order of the images."""
        if not any(function.seeded for function in group.functions):
            return []
        views = self._views[group.name]
        if self._has_rows_first:
            return [_seed_of(row, view) for row in rows for view in views]
        return [_seed_of(row, view) for view in views for row in rows]

    def _of_rows(
        self, functions: Sequence[Function], images: Any, n_views: int, seeds: Sequence[int]
    ) -> None:
        import numpy

        array = numpy.asarray(images)
        rows = array if n_views == 1 else array.reshape(-1, *array.shape[2:])

        for function in functions:

            def change(row: Any, *seed: int, function: Function = function) -> None:
                changed = function.function(row, *seed)
                if changed is None or changed is row:
                    return
                changed = numpy.asarray(changed)
                is_alike = numpy.can_cast(changed.dtype, row.dtype, "same_kind")
                if changed.shape != row.shape or not is_alike:
                    found = f"{changed.dtype} of shape {changed.shape}"
                    what = f"it returned {found} for a row of {row.dtype} of shape {row.shape}"
                    raise UsageError(f"transform: Function: {what}")
                row[...] = changed

            each = (rows, seeds) if function.seeded else (rows,)
            n_threads = function.threads
            if n_threads:
                key = os.getpid(), n_threads
                pool = self._pools.get(key)
                if pool is None:
                    pool = self._pools[key] = ThreadPoolExecutor(n_threads, "fdconvert-function")
                # The list raises what a function raises.
                list(pool.map(change, *each))
            else:
                for arguments in zip(*each, strict=True):
                    change(*arguments)


def _seed_of(row: tuple[int, ...], view: int) -> int:
    """Return a number that is the same in every process and for any number of threads."""
    digest = hashlib.blake2b(repr((*row, view)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
