"""Groups of the loader's options: each is one argument of ``Loader``.

A group is checked when it is made, and its errors name the field: ``Cache.bytes: ...``.
"""

import os
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal

from fdconvert._errors import UsageError
from fdconvert._exchange import Exchange
from fdconvert._paths import StrPath


class Group:
    """Common part of the groups: a short form for people, and the checks of fields."""

    def __repr__(self) -> str:
        shown = []
        for member in fields(self):  # type: ignore[arg-type]  # Every group is a dataclass.
            value = getattr(self, member.name)
            if member.default is MISSING:
                shown.append(repr(value))
            elif type(value) is not type(member.default) or value != member.default:
                shown.append(f"{member.name}={value!r}")
        return f"fdconvert.{type(self).__name__}({', '.join(shown)})"

    def _refuse(self, name: str, what: str) -> UsageError:
        return UsageError(f"{type(self).__name__}.{name}: {what}")

    def _whole(self, name: str, least: int = 0) -> None:
        """Refuse what is no whole number from ``least`` on."""
        value = getattr(self, name)
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{type(self).__name__}.{name}: {value!r} is no whole number")
        if value < least or value >= 1 << 63:
            at_least = f"expected {least} or more" if value < least else "it is too large"
            raise self._refuse(name, f"{value} is out of range; {at_least}")

    def _known(self, name: str, *known: str) -> None:
        """Refuse what is none of these texts."""
        value = getattr(self, name)
        if value not in known:
            expected = ", ".join(f'"{text}"' for text in known)
            raise self._refuse(name, f"unknown {value!r}; expected one of {expected}")

    def _flag(self, name: str) -> None:
        """Refuse what is neither ``True`` nor ``False``."""
        value = getattr(self, name)
        if not isinstance(value, bool):
            raise TypeError(f"{type(self).__name__}.{name}: {value!r} is neither True nor False")

    def _path(self, name: str) -> None:
        """Refuse what is no path, and make it absolute: another process may run in another folder."""
        value = getattr(self, name)
        if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
            raise TypeError(f"{type(self).__name__}.{name}: {value!r} is no path")
        object.__setattr__(self, name, os.path.abspath(os.fspath(value)))


@dataclass(frozen=True, repr=False)
class Ranks(Group):
    """Shares of several processes: ``Ranks(rank, world_size)``; ``Ranks(0, 1)`` gives all samples.

    Without both they come from ``torch.distributed``, torchrun or MPI, with a warning. All ranks make
    the same number of steps. An incomplete last batch is ``"short"``, left out by ``last="drop"``, or
    filled by ``"pad"`` with rows that are not valid. ``locality`` gives rows to the rank whose cache
    owns their samples; with ``exchange``, a group of ``torch.distributed`` for this loader alone or an
    ``fdconvert.Exchange``, ranks then send each other samples instead of reading them.
    """

    rank: int | None = None
    world_size: int | None = None
    last: Literal["short", "drop", "pad"] = "short"
    locality: bool = False
    exchange: Any | Exchange = None

    def __post_init__(self) -> None:
        if self.rank is not None:
            self._whole("rank")
        if self.world_size is not None:
            self._whole("world_size", 1)
        if self.world_size is None and self.rank is not None:
            raise self._refuse("world_size", "it is missing; give both `rank` and `world_size`")
        if self.rank is None and self.world_size not in (None, 1):
            raise self._refuse("rank", "it is missing; give both `rank` and `world_size`")
        if self.rank is not None and self.world_size is not None and self.rank >= self.world_size:
            most = self.world_size - 1
            what = f"must be 0 to {most} for world_size={self.world_size}, got {self.rank}"
            raise self._refuse("rank", what)
        self._known("last", "short", "drop", "pad")
        self._flag("locality")


@dataclass(frozen=True, repr=False)
class Skip(Group):
    """Leave the row of a sample that fails empty, and not valid: ``Loader(path, errors=Skip())``.

    More than ``max_failures`` in an epoch raise an error.
    """

    max_failures: int = 100

    def __post_init__(self) -> None:
        self._whole("max_failures")


@dataclass(frozen=True, repr=False)
class Substitute(Group):
    """Show the next sample of the order in place of one that fails, and mark the row.

    More than ``max_failures`` in an epoch raise an error.
    """

    max_failures: int = 100

    def __post_init__(self) -> None:
        self._whole("max_failures")


@dataclass(frozen=True, repr=False)
class Quarantine(Group):
    """Substitute samples that fail, list them in the file ``path``, and never try them again.

    For runs that are repeated: ``Quarantine("broken.jsonl")``. More than ``max_failures`` in an epoch
    raise an error.
    """

    path: StrPath
    max_failures: int = 100

    def __post_init__(self) -> None:
        self._path("path")
        self._whole("max_failures")


@dataclass(frozen=True, repr=False)
class Prefetch(Group):
    """Batches made ahead of the loop: at most ``batches``, in at most ``bytes`` of memory.

    ``bytes`` also count the batches that the loop keeps, but two are always allowed. More help where
    the time of a step varies much.
    """

    batches: int = 3
    bytes: int = 1 << 30

    def __post_init__(self) -> None:
        self._whole("batches", 1)
        self._whole("bytes")


@dataclass(frozen=True, repr=False)
class Cache(Group):
    """Encoded images kept for the whole run, for slow storage: ``Cache(8 << 30)``.

    The same ``bytes`` of images stay in memory, or in ``folder`` on a local disk, and every batch has
    the same share of them. Their number is part of the order, so a checkpoint needs the same
    ``bytes``. With ``Ranks(locality=True)``, ``ranks_per_cache`` ranks share a folder, those of one
    machine. ``policy="liquid"`` exists only for benchmarks.
    """

    bytes: int
    folder: StrPath | None = None
    ranks_per_cache: int = 1
    policy: Literal["resident", "liquid"] = "resident"

    def __post_init__(self) -> None:
        self._whole("bytes", 1)
        if self.folder is not None:
            self._path("folder")
        self._whole("ranks_per_cache", 1)
        self._known("policy", "resident", "liquid")


@dataclass(frozen=True, repr=False)
class Storage(Group):
    """How samples are read: ``Storage(fetch_threads=64)`` for storage with high latency.

    ``access="direct"`` reads past the page cache. ``fetch_threads`` only read, beside those that
    decode. For a dataset in a store ``ahead_bytes`` of images are fetched ahead. ``retries`` is the
    number of further tries after a temporary error; ``verify`` compares stored checksums.
    """

    access: Literal["mapped", "direct"] = "mapped"
    fetch_threads: int = 0
    ahead_bytes: int = 64 << 20
    retries: int = 3
    verify: bool = True

    def __post_init__(self) -> None:
        self._known("access", "mapped", "direct")
        self._whole("fetch_threads")
        self._whole("ahead_bytes")
        self._whole("retries")
        self._flag("verify")


@dataclass(frozen=True, repr=False)
class Objects(Group):
    """The JSON field with boxes, keypoints, polygons and run lengths: ``Objects("objects")``.

    Objects whose box has a side under ``min_box`` pixels of the row are left out. ``keypoint_flip``
    lists which keypoint replaces each one in a flip. ``segmentations=False`` leaves polygons and run
    lengths out, and does not read them.
    """

    field: str
    min_box: float = 1.0
    keypoint_flip: Sequence[int] | None = None
    segmentations: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.field, str):
            raise TypeError(f"Objects.field: {self.field!r} is not the name of a field")
        if isinstance(self.min_box, bool) or not hasattr(self.min_box, "__float__"):
            raise TypeError(f"Objects.min_box: {self.min_box!r} is no number")
        if self.keypoint_flip is not None:
            if isinstance(self.keypoint_flip, (str, int)):
                what = f"{self.keypoint_flip!r} is no list of numbers of keypoints"
                raise TypeError(f"Objects.keypoint_flip: {what}")
            object.__setattr__(self, "keypoint_flip", tuple(self.keypoint_flip))
        self._flag("segmentations")


@dataclass(frozen=True, repr=False)
class Cuda(Group):
    """The GPU ``index`` decodes JPEGs and draws fractals, and batches are in its memory.

    ``decoder="index"`` uses kernels for JPEGs with entry points, ``"nvjpeg"`` NVIDIA's library,
    ``"auto"`` both, ``"cpu"`` neither. ``cache_bytes`` of the GPU's memory keep encoded images, which
    are not read again.
    """

    index: int = 0
    decoder: Literal["auto", "index", "nvjpeg", "cpu"] = "auto"
    cache_bytes: int = 0

    def __post_init__(self) -> None:
        self._whole("index")
        self._known("decoder", "auto", "index", "nvjpeg", "cpu")
        self._whole("cache_bytes")


@dataclass(frozen=True, repr=False)
class Output(Group):
    """Type of a batch's arrays: ``Output("torch", pin_memory=True)``.

    ``kind="auto"`` means torch's tensors if the program has imported torch, else NumPy's arrays if
    NumPy is installed, else ``fdconvert.Array``. ``pin_memory`` copies tensors to pinned memory if
    CUDA is available. Images are copied to ``out`` if given: a writable buffer, or a list of buffers
    used in turn.
    """

    kind: Literal["auto", "numpy", "torch", "array"] = "auto"
    pin_memory: bool = False
    out: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        self._known("kind", "auto", "numpy", "torch", "array")
        self._flag("pin_memory")
        if self.pin_memory and self.out is not None:
            raise self._refuse("pin_memory", "cannot be combined with `out`; pin your own memory instead")
        if isinstance(self.out, (list, tuple)) and not self.out:
            raise self._refuse("out", "the list is empty")
