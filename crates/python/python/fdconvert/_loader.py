"""The loader: batches for training, as arrays of NumPy, torch or neither."""

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias

from fdconvert import _fdconvert
from fdconvert._batch import Batch, Geometry, Objects
from fdconvert._errors import UsageError
from fdconvert._exchange import Exchange, close_at_exit, exchange_of
from fdconvert._fdconvert import Dataset
from fdconvert._outputs import (
    CONVERTERS,
    available,
    available_on_device,
    buffer_of,
    copy_into,
    dtype_name,
    is_no_array,
    nvjpeg,
    ordinal_of,
    pin_function,
    pinned,
)
from fdconvert._parts import Part, Source, Split, parts_of
from fdconvert._paths import StrPath
from fdconvert._ranks import check_ranks, rank_of_process
from fdconvert._sampling import Sampling, Shuffle, engine_of

Pair: TypeAlias = tuple[Any, ...]
"""Images and labels, followed by the dictionary of fields if any were requested. The labels are
``None`` with ``label=None``."""

STATE_VERSION = 1
SHUFFLE = Shuffle()


class Loader:
    """Makes batches of a dataset on its own threads, ahead of the loop that uses them.

    ``path`` is a ``Dataset``, anything that ``Dataset`` opens, or a list of these, each with an optional
    weight (how often its samples come in an epoch) and, for paths, split: ``["a.beton", ("b.beton", 0.5)]``,
    ``[("a.wds", 1, "train"), "b.beton"]``. ``split`` is the name of the split to load, or a list of
    names; a dataset with several splits needs it, with ``"all"`` for the whole. In a list it applies
    to the datasets without their own split.

    Only these determine the contents and order of batches, not threads, prefetching or the failures
    of other samples:

    - ``label``: the field with the labels. ``"auto"`` is the label of the dataset: its first field of
      integers with class names, else the field called ``label``; a dataset without one raises an
      error. The name of a field selects that one, of any kind but images: the labels are an array of
      ``int64`` or ``float64``, one array with the rows as first dimension, or a list of ``str`` for
      text and JSON. ``None`` means no labels.
    - ``classes``: the class names in the order of the numbers in labels and objects. By default
      those of the dataset; for several datasets with different classes all names, sorted.
    - ``fields``: names of further fields: ``["score", "caption"]``. Integers and floats become arrays
      of ``int64`` and ``float64``, arrays one array of their type with the rows as first dimension,
      text a list of ``str``, JSON and bytes a list of ``bytes``, as stored. Images become ``uint8``
      of ``(rows, height, width, 3)``, and gray of 16 bits ``uint16`` of ``(rows, height, width)``,
      with the crop and the flip of the sample's image. Batches lack all other fields
      (``stats()["fields_left_out"]`` names them); ``Dataset`` returns them.
    - ``masks``: names of image fields that hold a label for each pixel, whether in ``fields`` or not:
      one array of ``(rows, height, width)`` with the stored values, resized by nearest neighbour.
      The frame of a letterbox is ``mask_fill``.
    - ``objects``: the JSON field with boxes, keypoints, polygons and run lengths: an
      ``Objects`` with coordinates in the row. Boxes with a side under ``min_box`` pixels are left out.
      ``keypoint_flip`` lists which keypoint replaces each one in a flip, and
      ``segmentations=False`` omits polygons and run lengths.
    - ``geometry``: whether batches have the placement of the image in each row.
    - ``batch_size``: rows on this rank; ``seed`` draws the order, crops, flips and augmentations.
    - ``sampling``: how the samples of an epoch are chosen and ordered: ``Shuffle()``,
      ``Sequential()`` for the dataset's order, ``Windowed``, ``Balanced``, ``Weighted``, ``Repeated``
      or ``Order``.
    - ``rank``, ``world_size``: this process and the number of processes; all make the same number of
      steps. By default they come from ``torch.distributed``, torchrun or MPI, with a warning; ``0``
      and ``1`` give all samples.
    - ``last``: an incomplete last batch is ``"short"``, left out with ``"drop"`` (or
      ``drop_last=True``), or filled with rows that are not valid by ``"pad"``.
    - ``size``: one side of the images in pixels, or ``(height, width)``.
    - ``crop``: ``"center"`` resizes the short side to ``resize`` (by default ``size`` * 256 / 224)
      and cuts out the middle, ``"rrc"`` takes a random part of ``scale`` of the area and of a
      ``ratio`` of sides, ``"letterbox"`` fits the whole image into a frame of ``fill`` (one value, or
      red, green and blue), ``None`` squeezes the whole image.
    - ``draw_size``: the size at which fractals are drawn. ``"output"`` draws them so large that they
      need no resizing (not with ``"rrc"``), and ``"own"`` at their own size. ``"auto"`` is
      ``"output"`` for recipes without ``size`` and ``"own"`` for all others.
    - ``flip``: probability of a left-right flip; 0.5 with ``"rrc"``, else 0.
    - ``augment``: ``"autoaugment"``, ``"autoaugment-cifar10"``, ``"autoaugment-svhn"``,
      ``"randaugment"``, ``("randaugment", n, magnitude)`` or ``"trivialaugment"``.
    - ``mixup``, ``cutmix``: the parameter of the beta distribution that torchvision calls ``alpha``,
      for MixUp and CutMix within each batch; 0 for none. A share ``mix_prob`` of the batches is
      mixed; with both, a share ``switch_prob`` of these by CutMix, as in timm. Each valid row is mixed
      with the valid row before it, by one share for the batch that depends on seed, epoch and step.
      Labels are ``float32`` with a column for each of ``num_classes`` (by default as many as the
      label has names of classes), or those of an array of numbers for each class; not smoothed. Not
      on a GPU.
    - ``dtype``: ``"u8"``; ``"f16"`` and ``"f32"`` are from 0 to 1, or normalised by ``mean`` and
      ``std``. Names and types of NumPy and torch work, too.
    - ``layout``: ``"nhwc"`` or ``"nchw"``.
    - ``orient``: whether to turn photos upright by EXIF.

    A sample that cannot be read or decoded ends the epoch with ``on_error="raise"``, leaves a row
    that is not valid with ``"skip"``, and is replaced by another with ``"substitute"`` and
    ``"quarantine:FILE"``; the file lists such samples, and they are not tried again. With these, more
    than ``max_failures`` in an epoch raise an error. ``retries`` is the number of further tries after
    a temporary error. ``verify`` checks stored checksums. On Linux, a mapped file that is truncated
    or becomes unreadable only fails the samples in it.

    ``threads`` decode, by default one per core. ``fetch_threads`` only read, for storage with high
    latency. For a dataset in a store, ``ahead_bytes`` of images are fetched ahead, neighbours
    together, with up to 128 requests in flight whatever the number of threads.
    ``prefetch`` batches are made ahead, in at most ``prefetch_bytes``, but always at least one.
    ``access="direct"`` reads past the page cache. ``cache_bytes`` of images stay in memory, the
    same ones for the whole run, and every batch has the same share of them. Their number is part of
    the order, so a checkpoint needs the same ``cache_bytes``. ``cache_folder`` keeps them in a folder
    instead, on a local disk for datasets in a store, shared by loaders with the same seed.
    ``locality`` gives rows to the rank whose cache owns their samples: global batches are the same as
    without a cache, and ranks whose caches together hold the dataset hardly read it again.
    ``ranks_per_cache`` is then the number of ranks that share a ``cache_folder``, those of a machine.
    With ``exchange``, a group of ``torch.distributed`` for this loader alone or another
    ``fdconvert.Exchange``, ranks send each other the samples that they do not own instead of
    reading them. If that fails, they read them, and a warning says so once.
    ``cache_policy="liquid"`` exists only for benchmarks.

    With ``device="cuda"`` (or ``"cuda:1"``) that GPU decodes JPEGs, and batches are in its memory.
    ``decoder`` selects how. ``"index"`` uses kernels for JPEGs with entry points (stored by
    default), whose pixels are those of libjpeg-turbo. ``"nvjpeg"`` is NVIDIA's library,
    ``"auto"`` both, in this order, and ``"cpu"`` neither. The CPU decodes all other images, and
    ``stats()`` counts them. ``device_cache_bytes`` of the GPU's memory keep encoded images, which are
    not read again. Images are resized a little more exactly than on the CPU; ``augment`` makes the
    same changes. Fractals of one gray by ``lanes64-v1`` are drawn on the GPU, with the CPU's pixels,
    if they need no resizing. ``output`` is ``"torch"``, if torch is installed, with ``images`` and
    ``labels`` on the GPU (``fields`` stay in main memory), or ``"array"`` for
    ``fdconvert.DeviceArray``. ``out`` accepts tensors on the GPU.

    ``output`` is ``"numpy"``, ``"torch"``, ``"array"`` for ``fdconvert.Array``, or ``"auto"``:
    NumPy if it is installed, else ``"array"``. Images are views of the loader's memory, which it
    reuses when nothing refers to them any more. Batches that are kept use new memory, up to
    ``prefetch_bytes``; then the loader waits, and raises an error after ten seconds: keep copies.
    With ``out=``, a writable buffer or a list of buffers used in turn, batches are copied there
    instead. ``pin_memory`` copies torch's tensors to pinned memory if CUDA is available.

    A ``for`` loop is one epoch of ``(images, labels)``, or of ``(images, labels, fields)`` with
    ``fields``, ``masks`` or ``objects``. The next loop is the next epoch. Ctrl-C works while the loop
    waits. After a fork both processes continue, each with its own threads. A pickled loader continues
    elsewhere after the last batch that this one returned. Forked and pickled loaders do not have the
    ``exchange``.
    """

    def __init__(
        self,
        path: Source | Iterable[Part],
        batch_size: int = 64,
        *,
        split: Split | None = None,
        seed: int = 0,
        threads: int = 0,
        size: int | tuple[int, int] = 224,
        crop: Literal["center", "rrc", "letterbox"] | None = "center",
        fill: int | tuple[int, int, int] = 0,
        draw_size: Literal["auto", "output", "own"] = "auto",
        label: str | None = "auto",
        classes: Sequence[str] | None = None,
        fields: Sequence[str] = (),
        masks: Sequence[str] = (),
        mask_fill: int = 0,
        objects: str | None = None,
        min_box: float = 1.0,
        keypoint_flip: Sequence[int] | None = None,
        segmentations: bool = True,
        geometry: bool = False,
        dtype: Literal["u8", "f16", "f32", "uint8", "float16", "float32"] | Any = "u8",
        layout: Literal["nhwc", "nchw", "NHWC", "NCHW"] = "nhwc",
        sampling: Sampling = SHUFFLE,
        flip: float | None = None,
        resize: int | None = None,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        augment: str | tuple[str, int, int] | None = None,
        mixup: float = 0.0,
        cutmix: float = 0.0,
        mix_prob: float = 1.0,
        switch_prob: float = 0.5,
        num_classes: int | None = None,
        last: Literal["short", "drop", "pad"] = "short",
        drop_last: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        on_error: str = "raise",
        max_failures: int = 100,
        retries: int = 3,
        verify: bool = True,
        prefetch: int = 3,
        prefetch_bytes: int = 1 << 30,
        fetch_threads: int = 0,
        ahead_bytes: int = 64 << 20,
        cache_bytes: int = 0,
        cache_policy: Literal["resident", "liquid"] = "resident",
        cache_folder: StrPath | None = None,
        locality: bool = False,
        ranks_per_cache: int = 1,
        exchange: Any | Exchange = None,
        access: Literal["mapped", "direct"] = "mapped",
        orient: bool = True,
        device: str | None = None,
        decoder: Literal["auto", "index", "nvjpeg", "cpu"] = "auto",
        device_cache_bytes: int = 0,
        output: Literal["auto", "numpy", "torch", "array"] = "auto",
        pin_memory: bool = False,
        out: Any = None,
    ) -> None:
        parts = parts_of(path, split)
        self._rank_is_given = rank is not None or world_size is not None
        rank, world_size = rank_of_process(rank, world_size)
        if drop_last:
            if last == "pad":
                raise UsageError('drop_last: cannot be combined with last="pad"')
            last = "drop"
        kind, _, file = on_error.partition(":")
        if file:
            # Another process may run in another folder.
            on_error = f"{kind}:{os.path.abspath(file)}"
        engine: dict[str, Any] = {
            "batch_size": batch_size,
            "seed": seed,
            "threads": threads,
            "size": size,
            "crop": crop,
            "fill": fill,
            "draw_size": draw_size,
            "label": label,
            "classes": _class_list(classes),
            "fields": fields if isinstance(fields, str) else list(fields),
            "masks": masks if isinstance(masks, str) else list(masks),
            "mask_fill": mask_fill,
            "objects": objects,
            "min_box": min_box,
            "keypoint_flip": None if keypoint_flip is None else list(keypoint_flip),
            "segmentations": segmentations,
            "geometry": geometry,
            "dtype": dtype_name(dtype),
            "layout": layout,
            "sampling": engine_of(sampling),
            "flip": flip,
            "resize": resize,
            "scale": scale,
            "ratio": ratio,
            "mean": mean,
            "std": std,
            "augment": augment,
            "mixup": mixup,
            "cutmix": cutmix,
            "mix_prob": mix_prob,
            "switch_prob": switch_prob,
            "num_classes": num_classes,
            "last": last,
            "rank": rank,
            "world_size": world_size,
            "on_error": on_error,
            "max_failures": max_failures,
            "retries": retries,
            "verify": verify,
            "prefetch": prefetch,
            "prefetch_bytes": prefetch_bytes,
            "fetch_threads": fetch_threads,
            "ahead_bytes": ahead_bytes,
            "cache_bytes": cache_bytes,
            "cache_policy": cache_policy,
            "cache_folder": None if cache_folder is None else os.path.abspath(cache_folder),
            "locality": locality,
            "ranks_per_cache": ranks_per_cache,
            "exchange": exchange_of(exchange, rank, world_size),
            "access": access,
            "orient": orient,
            "decoder": decoder,
            "device_cache_bytes": device_cache_bytes,
        }
        ordinal = ordinal_of(device)
        kind_of_array = available(output) if ordinal is None else available_on_device(output)
        if ordinal is not None and pin_memory:
            raise UsageError("pin_memory: batches are on the GPU already")
        if ordinal is not None and out is not None and kind_of_array != "torch":
            raise UsageError('out: on a GPU it needs output="torch"')
        if pin_memory and kind_of_array != "torch":
            raise UsageError('pin_memory: it needs output="torch"')
        if pin_memory and out is not None:
            raise UsageError("pin_memory: cannot be combined with `out`; pin your own memory instead")
        self._parts = parts
        self._options = engine | {
            "sampling": sampling,
            "device": device,
            "output": kind_of_array,
            "pin_memory": pin_memory,
            "out": out,
        }
        self._on_device = ordinal is not None
        self._convert = CONVERTERS[kind_of_array]()
        self._pin: Callable[[Any], Any] | None = None
        if out is None:
            self._targets = []
        else:
            targets = out if isinstance(out, (list, tuple)) else [out]
            self._targets = list(targets) if self._on_device else list(map(buffer_of, targets))
            if not self._targets:
                raise UsageError("out: the list is empty")
        self._n_returned = 0
        # Whether a batch of this epoch was taken here; not after its end.
        self._under_way = False
        # Number of the current loop; earlier ones get an error.
        self._turn = 0
        engine |= {"device": ordinal, "nvjpeg": None if ordinal is None else nvjpeg()}
        self._is_told = decoder == "cpu"
        self._exchanges = exchange is not None
        self._source = _fdconvert.BatchSource(parts, engine)
        if self._exchanges:
            close_at_exit(self)

    def __iter__(self) -> Iterator[Pair]:
        """Begin the next epoch, or resume a restored one, and yield ``(images, labels)``.

        With ``fields``, ``masks`` or ``objects`` it yields ``(images, labels, fields)``, where
        ``fields`` is a dictionary.
        """
        return _Pairs(self, self._begin())

    def batches(self) -> Iterator[Batch]:
        """Begin the next epoch, or resume a restored one, and yield ``Batch`` objects."""
        return _Batches(self, self._begin())

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch, which is the same on all ranks."""
        return len(self._source)

    @property
    def classes(self) -> list[str] | None:
        """The class names, in the order of the labels' numbers; ``None`` without."""
        return self._source.classes()

    @property
    def schema(self) -> dict[str, Any]:
        """The fields of the dataset, as in ``Dataset``; with several datasets, of the first."""
        return self._source.schema()

    @property
    def n_samples(self) -> int:
        """The number of samples in an epoch, on all ranks together."""
        return self._source.n_samples()

    @property
    def rank(self) -> int:
        """The number of this process among those that train together."""
        return int(self._options["rank"])

    @property
    def world_size(self) -> int:
        """The number of processes that train together."""
        return int(self._options["world_size"])

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._source.epoch()

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch. An epoch that was restored midway resumes there."""
        if self._under_way or epoch != self._source.epoch():
            self._source.begin(epoch)
        self._under_way = False
        self._turn += 1

    def state_dict(self) -> dict[str, Any]:
        """Return a checkpoint after the last returned batch.

        It is a small dictionary of text and numbers for JSON or ``torch.save``, and the same on every
        rank. The number of ranks, the batch size and the threads may differ when it is loaded.
        """
        return {"state": self._source.state(), "version": STATE_VERSION}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a checkpoint. Only allowed before the first batch of an epoch.

        Raises ``UsageError`` during an epoch and for checkpoints of other versions or datasets.
        """
        if self._under_way:
            what = "an epoch is under way; load it before the first batch or after the last"
            raise UsageError(f"state: {what}")
        version = state_dict.get("version")
        if version != STATE_VERSION or not isinstance(state_dict.get("state"), str):
            what = f"version {version!r} is not supported; expected {STATE_VERSION}"
            raise UsageError(f"state: {what}")
        self._source.restore(state_dict["state"])

    def stats(self) -> dict[str, Any]:
        """Return counts and times since the start or the last reset.

        Times end in ``_s`` and are in seconds; those of ``fetch``, ``decode``, ``draw`` and ``render``
        are summed over threads. ``stalled_s`` is the time that the loop waited for batches, and
        ``stall_p99_s`` the wait that 99 % of the batches did not exceed. ``verdict`` names the
        bottleneck: ``"consumer-bound"``, ``"disk-bound"``, ``"decode-bound"``, or ``"render-bound"``
        for drawn images; ``None`` before the first batch. ``batches_kept`` counts batches whose
        memory is still in use. ``jpeg_entropy`` is how this process reads the codes of JPEGs with
        entry points, ``"lanes"`` or ``"streams"``; ``None`` until a few were decoded both ways to
        know which is faster. ``fields_left_out`` lists fields of the dataset that batches lack;
        request them by ``fields``.
        """
        return self._source.stats()

    def reset_stats(self) -> None:
        """Reset the statistics."""
        self._source.reset_stats()

    def close(self) -> None:
        """Stop the threads and close the dataset. Returned batches stay valid."""
        self._turn += 1
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        paths = [path if weight == 1 else (path, weight) for path, weight, _ in self._parts]
        shown = repr(paths[0] if len(paths) == 1 else paths)
        ranks = f", rank={self.rank}, world_size={self.world_size}" if self.world_size > 1 else ""
        return f"fdconvert.Loader({shown}, batch_size={self._options['batch_size']}{ranks})"

    def __reduce__(self) -> tuple[Any, ...]:
        options = self._options | {"exchange": None}
        given = self._rank_is_given
        return _restored, (type(self), self._parts, options, self.state_dict(), given)

    def _begin(self) -> int:
        if not self._rank_is_given:
            check_ranks(self.rank, self.world_size)
        if self._under_way:
            self._source.begin(self._source.epoch() + 1)
            self._under_way = False
        if self._options["pin_memory"] and self._pin is None:
            self._pin = pin_function()
        self._turn += 1
        return self._turn

    def _say_who_decoded(self) -> None:
        """Warn once if the CPU decoded much of what the GPU should have."""
        stats = self.stats()
        if self._is_told or stats["decoded_by_cpu"] * 10 < stats["samples"]:
            return
        self._is_told = True
        what = (
            f"fdconvert.Loader: the CPU decoded {stats['decoded_by_cpu']} of {stats['samples']} "
            "images. The GPU decodes JPEGs with entry points, which are stored by default, others by "
            "nvJPEG if it is installed, and draws fractals of one gray by lanes64-v1 that need no resizing"
        )
        warnings.warn(what, RuntimeWarning, stacklevel=4)

    def _say_what_is_read(self) -> None:
        """Warn once when samples of other ranks are read from storage."""
        why = self._source.exchange_failure()
        if why is None:
            return
        self._exchanges = False
        what = (
            "fdconvert.Loader: samples that other ranks own are read from storage from now on, "
            f"because the exchange has ended: {why}"
        )
        warnings.warn(what, RuntimeWarning, stacklevel=5)

    def _converted(self, array: Any) -> Any:
        return array if is_no_array(array) else self._convert(array)

    def _converted_column(self, column: Any) -> Any:
        if isinstance(column, dict):
            return Objects(**{name: self._convert(array) for name, array in column.items()})
        return self._converted(column)

    def _next(self, turn: int) -> Batch | None:
        if turn != self._turn:
            raise UsageError("loader: it was closed, set to an epoch or iterated again during this loop")
        n_targets = len(self._targets)
        target = self._targets[self._n_returned % n_targets] if n_targets else None
        try:
            parts = self._source.next(None if self._on_device else target)
        except KeyboardInterrupt:
            raise
        except BaseException:
            # The next loop begins the next epoch, because this one would fail again.
            self._under_way = True
            raise
        self._under_way = parts is not None
        if self._exchanges:
            self._say_what_is_read()
        if parts is None:
            if self._on_device:
                self._say_who_decoded()
            return None
        self._n_returned += 1
        *arrays, epoch, step, state, columns, rows = parts
        images, labels, samples, valid, substituted = map(self._converted, arrays)
        fields = {name: self._converted_column(column) for name, column in columns.items()}
        geometry = None
        if rows is not None:
            geometry = Geometry(**{name: self._convert(array) for name, array in rows.items()})
        # From here only the converted arrays keep the memory in use.
        del parts, arrays
        if self._on_device and self._options["output"] == "torch":
            if not is_no_array(labels):
                labels = labels.to(images.device, non_blocking=True)
            if target is not None:
                images = copy_into(target, images)
        if self._pin is not None:
            images = self._pin(images)
            labels = labels if is_no_array(labels) else self._pin(labels)
            for name, column in fields.items():
                fields[name] = pinned(column, self._pin)
        return Batch(
            images, labels, samples, valid, substituted, epoch, step, state, fields, geometry
        )


class _Batches:
    """One epoch. Not a generator, which would keep its last batch while it waits for the next."""

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader = loader
        self._turn = turn
        self._is_over = False
        # For threads that share the loop: none may begin the next epoch.
        self._lock = threading.RLock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self._take()

    def _take(self) -> Batch:
        with self._lock:
            if self._is_over:
                raise StopIteration
            try:
                batch = self._loader._next(self._turn)
            except KeyboardInterrupt:
                raise
            except BaseException:
                self._is_over = True
                raise
            if batch is None:
                self._is_over = True
                raise StopIteration
            return batch


class _Pairs(_Batches):
    def __next__(self) -> Pair:
        batch = self._take()
        options = self._loader._options
        if options["fields"] or options["masks"] or options["objects"]:
            return batch.images, batch.labels, batch.fields
        return batch.images, batch.labels


def _class_list(classes: Any) -> Any:
    if isinstance(classes, (set, frozenset)):
        raise TypeError("classes: a set has no order, and the order gives the numbers; pass a list")
    return classes if classes is None or isinstance(classes, str) else list(classes)


def _restored(
    kind: type[Loader],
    parts: list[tuple[str | Dataset, float, Split | None]],
    options: dict[str, Any],
    state: dict[str, Any],
    rank_is_given: bool,
) -> Loader:
    loader = kind(parts, **options)
    loader._rank_is_given = rank_is_given
    loader.load_state_dict(state)
    return loader
