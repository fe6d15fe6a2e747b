"""Batches for training: the loader, and its batches as arrays of NumPy, torch or neither."""

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias

from fdconvert import _fdconvert
from fdconvert._batch import Batch, Geometry, Objects
from fdconvert._errors import UsageError
from fdconvert._exchange import Exchange, close_at_exit, exchange_of
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
from fdconvert._parts import Part, Split, parts_of
from fdconvert._paths import StrPath
from fdconvert._ranks import check_ranks, rank_of_process

Pair: TypeAlias = tuple[Any, ...]
"""Images and labels, and with ``fields`` a dictionary of them; ``None`` for the labels with
``label=None``."""

STATE_VERSION = 1


class Loader:
    """Makes batches of a dataset on its own threads, ahead of the loop that takes them.

    ``path`` is anything that ``Dataset`` opens, or a list of such paths, each with a weight if it
    is to come more often or less often than once an epoch: ``["a.beton", ("b.beton", 0.5)]``.
    ``split`` names the split to load, or several in a list; a dataset that has several is loaded as
    a whole with ``split="all"`` only. In a list of datasets it is that of all which have none of
    their own behind the weight: ``[("a.wds", 1, "train"), "b.beton"]``.

    Contents and order of batches depend only on these; not on threads, prefetching or the failures of
    other samples:

    - ``label``: the field that labels are taken from. ``"auto"`` is the label of the dataset: its
      first field of integers with class names, else the one called ``label``; a dataset without is
      refused. The name of a field takes that one, of any kind but images: the labels are an array of
      ``int64`` or ``float64``, one array with the rows as first dimension, or a list of ``str`` for
      text and JSON. ``None`` is for no labels.
    - ``classes``: the names of the classes, in the order of the numbers that labels and objects have.
      By default those of the dataset; of several datasets with different classes all names, sorted.
    - ``fields``: names of further fields: ``["score", "caption"]``. Integers
      and floats become arrays of ``int64`` and ``float64``, arrays one array of their type with the
      rows as first dimension, text a list of ``str``, JSON and bytes a list of ``bytes``, as they are
      stored. Images become ``uint8`` of ``(rows, height, width, 3)``, and gray of 16 bits ``uint16`` of
      ``(rows, height, width)``, with the crop and the flip of the sample's image. Fields that are
      neither requested nor the label do
      not reach batches (``stats()`` names them in ``fields_left_out``): ``Dataset`` returns them.
    - ``masks``: names of fields of images that hold labels of pixels, in ``fields`` or not: one array
      of ``(rows, height, width)`` with the stored values, by the nearest neighbour; ``mask_fill``
      where a letterbox leaves nothing.
    - ``objects``: the JSON field with boxes, keypoints, polygons and run lengths: an
      ``Objects`` with coordinates in the row. Boxes with a side under ``min_box`` pixels are left out.
      ``keypoint_flip`` says which keypoint takes the place of each when left and right change, and
      ``segmentations=False`` leaves polygons and run lengths out. ``geometry``: batches say how
      rows show their images.
    - ``batch_size``: rows on this rank; ``seed`` draws the order, crops, flips and augmentations.
    - ``shuffle``: ``True``, ``False`` for the dataset's order, or ``(chunk, window)`` for storage
      that reads in large pieces: chunks in a random order, shuffled within a window.
    - ``rank``, ``world_size``: every rank makes the same number of steps. By default as
      ``torch.distributed``, torchrun or MPI say, with a warning; ``0`` and ``1`` for all samples.
    - ``last``: what does not fill a batch is a ``"short"`` one, is left out with ``"drop"``
      (``drop_last=True`` says the same), or is filled up with rows that are not valid by ``"pad"``.
    - ``size``: of the images, one side or ``(height, width)``.
    - ``crop``: ``"center"`` resizes the short side to ``resize`` (by default ``size`` * 256 / 224)
      and cuts the middle out, ``"rrc"`` takes a random part of ``scale`` of the area and of a
      ``ratio`` of sides, ``"letterbox"`` fits the whole image into a frame of ``fill`` (one value, or
      red, green and blue), ``None`` squeezes the whole image.
    - ``draw_size``: of fractals, which are stored nowhere. ``"auto"`` draws those of a recipe without
      ``size`` so large that nothing is resized (not with ``"rrc"``), all others at their own size;
      ``"output"`` does so with all of them, and ``"own"`` with none.
    - ``flip``: probability of a left-right flip; 0.5 with ``"rrc"``, else 0.
    - ``augment``: ``"autoaugment"``, ``"autoaugment-cifar10"``, ``"autoaugment-svhn"``,
      ``"randaugment"``, ``("randaugment", n, magnitude)`` or ``"trivialaugment"``.
    - ``mixup``, ``cutmix``: the parameter of the beta distribution that torchvision calls ``alpha``,
      for MixUp and CutMix within each batch; 0 for none. ``mix_prob`` of the batches are mixed, where
      both are asked for ``switch_prob`` of them by CutMix, as in timm. Each valid row takes from the
      valid row before it, with one share for the batch, which follows from seed, epoch and step.
      Labels are ``float32`` with a column for each of ``num_classes`` (by default as many as the
      label has names of classes), or those of an array of numbers for each class; not smoothed. Not
      on a GPU.
    - ``dtype``: ``"u8"``; ``"f16"`` and ``"f32"`` are from 0 to 1, or normalised by ``mean`` and
      ``std``. NumPy's names and types work, too, and torch's. ``layout``: ``"nhwc"`` or ``"nchw"``. ``orient`` turns photos upright by EXIF.

    A sample that cannot be read or decoded ends the epoch with ``on_error="raise"``, leaves a row
    that is not valid with ``"skip"``, and is replaced by another with ``"substitute"`` and
    ``"quarantine:FILE"``; the file lists such samples, and they are not tried again. With these, more
    than ``max_failures`` in an epoch are an error. ``retries`` are for reads that failed for
    a reason that may pass. ``verify`` checks stored checksums. A file that is cut or cannot be read
    while it is mapped is a failure of the samples in it like any other (on Linux).

    ``threads`` decode, by default one per core. ``fetch_threads`` only read, for storage that
    takes its time. Of a dataset in a store, ``ahead_bytes`` of images are fetched before they are
    read, near ones together, with up to 128 requests in flight whatever the threads.
    ``prefetch`` batches are made ahead, in at most ``prefetch_bytes``, but one in any case.
    ``access="direct"`` reads past the page cache. ``cache_bytes`` of images stay in memory, the
    same ones for the whole run, so that every batch has as many of them; how many fit is part of
    the order, so a checkpoint wants the same number. ``cache_folder`` keeps them there instead, on
    a local disk for datasets in a store, shared by loaders with the same seed.
    ``locality`` gives rows to the rank whose cache owns their samples: global batches stay those of
    a run without a cache, and ranks whose caches together hold the dataset hardly read it again.
    ``ranks_per_cache`` is how many of them share a ``cache_folder`` then, those of one machine.
    With ``exchange``, a group of ``torch.distributed`` for this loader alone or any other
    ``fdconvert.Exchange``, ranks send each other the samples that they do not own, in place of
    reading them; when that fails they are read, and a warning says so once.
    ``cache_policy="liquid"`` exists only for benchmarks.

    With ``device="cuda"`` (or ``"cuda:1"``) JPEGs are decoded by that GPU and batches are in its
    memory; ``decoder`` says by what. ``"index"`` are kernels for JPEGs with entry points (packed with
    ``--jpeg-index``), whose pixels are those of libjpeg-turbo. ``"nvjpeg"`` is NVIDIA's library,
    ``"auto"`` both, in this order, and ``"cpu"`` neither. What they cannot decode the CPU does, and
    ``stats()`` counts it. ``device_cache_bytes`` of the GPU's memory keep encoded images, which are
    not read again. Images are resized a little more exactly than on the CPU; ``augment`` makes the
    same changes. Fractals of one gray by ``lanes64-v1`` are drawn there, with the CPU's pixels, where
    they need not be resized. ``output`` is ``"torch"`` where torch is installed, with tensors of ``images`` and
    ``labels`` on the GPU (those of ``fields`` stay in the host's memory), or ``"array"`` for ``fdconvert.DeviceArray``; ``out`` takes tensors there.

    ``output`` is ``"numpy"``, ``"torch"``, ``"array"`` for ``fdconvert.Array``, or ``"auto"``:
    NumPy where it is installed. Images are views of the loader's memory. It gets that memory back
    when nothing refers to them any more. Batches that are kept take new memory up to
    ``prefetch_bytes``; then it waits, and raises an error after ten seconds: keep copies. With ``out=``, a writable buffer or a list of buffers used in turn, batches are copied
    there instead. ``pin_memory`` copies torch's tensors to pinned memory, where CUDA is available.

    A ``for`` loop is one epoch of ``(images, labels)``, with ``fields`` of ``(images, labels, fields)``,
    and the next loop the next epoch. Ctrl-C works
    while it waits. After a fork both processes go on, each with its own threads. A pickled loader
    continues, elsewhere, after the last batch that this one has returned. Neither a fork nor a
    pickled loader has the ``exchange``.
    """

    def __init__(
        self,
        path: StrPath | Iterable[Part],
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
        shuffle: bool | tuple[int, int] = True,
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
                raise UsageError("drop_last: the last batch cannot be padded as well")
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
            "shuffle": shuffle,
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
            raise UsageError('out: on a GPU it is for output="torch"')
        if pin_memory and kind_of_array != "torch":
            raise UsageError('pin_memory: it is for output="torch"')
        if pin_memory and out is not None:
            raise UsageError("pin_memory: with `out` the memory is yours; pin it there")
        self._parts = parts
        self._options = engine | {
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
        # Who iterates; the one who did before is told.
        self._turn = 0
        engine |= {"device": ordinal, "nvjpeg": None if ordinal is None else nvjpeg()}
        self._is_told = decoder == "cpu"
        self._exchanges = exchange is not None
        self._source = _fdconvert.BatchSource(parts, engine)
        if self._exchanges:
            close_at_exit(self)

    def __iter__(self) -> Iterator[Pair]:
        """Begin the next epoch, or go on in a restored one: ``(images, labels)`` of each batch.

        With ``fields``, ``masks`` or ``objects`` it is ``(images, labels, fields)``, the last a dictionary.
        """
        return _Pairs(self, self._begin())

    def batches(self) -> Iterator[Batch]:
        """Do the same with everything there is to know of each batch."""
        return _Batches(self, self._begin())

    def __len__(self) -> int:
        """How many batches a whole epoch has, on this rank and on any other."""
        return len(self._source)

    @property
    def classes(self) -> list[str] | None:
        """The names of the classes that labels are numbers of; ``None`` where there are none."""
        return self._source.classes()

    @property
    def schema(self) -> dict[str, Any]:
        """The fields of the dataset, as ``Dataset`` has them; of several datasets those of the first."""
        return self._source.schema()

    @property
    def n_samples(self) -> int:
        """How many samples come in an epoch, on all ranks together."""
        return self._source.n_samples()

    @property
    def rank(self) -> int:
        """Which of the processes that train together this one is."""
        return int(self._options["rank"])

    @property
    def world_size(self) -> int:
        """How many processes train together."""
        return int(self._options["world_size"])

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._source.epoch()

    def set_epoch(self, epoch: int) -> None:
        """Make that epoch the next one; one that was restored in its middle continues there."""
        if self._under_way or epoch != self._source.epoch():
            self._source.begin(epoch)
        self._under_way = False
        self._turn += 1

    def state_dict(self) -> dict[str, Any]:
        """Return where to go on after the last batch that was returned.

        It is a small dictionary of text and numbers, which JSON and ``torch.save`` can hold. It is the same on every rank. Number of ranks, batch size and threads may change.
        """
        return {"state": self._source.state(), "version": STATE_VERSION}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on there. Only before the first batch of an epoch is taken."""
        if self._under_way:
            what = "an epoch is under way; load it before the first batch, or after the last"
            raise UsageError(f"state: {what}")
        version = state_dict.get("version")
        if version != STATE_VERSION or not isinstance(state_dict.get("state"), str):
            what = f"version {version!r} is not of this loader, which reads {STATE_VERSION}"
            raise UsageError(f"state: {what}")
        self._source.restore(state_dict["state"])

    def stats(self) -> dict[str, Any]:
        """Return what was done so far and where the time went.

        Times end in ``_s``, are in seconds and, for ``fetch``, ``decode``, ``draw`` and ``render``,
        summed over threads. ``stalled_s`` is how long the loop waited for batches, ``stall_p99_s`` the
        wait that 99 % of the batches did not exceed. ``verdict`` is what bounds the rate:
        ``"consumer-bound"``, ``"disk-bound"``, ``"decode-bound"``, or ``"render-bound"`` where images
        are drawn, and ``None`` before the first batch. ``batches_kept`` are those whose memory is still in use. ``fields_left_out`` are
        fields of the dataset that no batch shows: ``fields`` asks for them.
        """
        return self._source.stats()

    def reset_stats(self) -> None:
        """Reset the statistics."""
        self._source.reset_stats()

    def close(self) -> None:
        """End the threads and close the dataset. Batches that were returned stay valid."""
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
        """Warn, once, when the GPU has left much to the CPU."""
        stats = self.stats()
        if self._is_told or stats["decoded_by_cpu"] * 10 < stats["samples"]:
            return
        self._is_told = True
        what = (
            f"fdconvert.Loader: the CPU decoded {stats['decoded_by_cpu']} of {stats['samples']} "
            "images. JPEGs are decoded on the GPU when they were packed with --jpeg-index on, or "
            "by nvJPEG where it is installed; fractals of one gray by lanes64-v1 are drawn there "
            "when they need not be resized"
        )
        warnings.warn(what, RuntimeWarning, stacklevel=4)

    def _say_what_is_read(self) -> None:
        """Warn, once, when samples are read that were to come from other ranks."""
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
            raise UsageError("loader: it was closed, moved or iterated again since this loop began")
        n_targets = len(self._targets)
        target = self._targets[self._n_returned % n_targets] if n_targets else None
        try:
            parts = self._source.next(None if self._on_device else target)
        except KeyboardInterrupt:
            raise
        except BaseException:
            # The loop after it is about the next epoch: this one would fail again.
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
        # The converted arrays alone decide how long the memory is in use.
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
    """One epoch. No generator, which would keep its last batch while it waits for the next."""

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader = loader
        self._turn = turn
        self._is_over = False
        # Threads that share the loop: what comes after its end is another epoch.
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
    parts: list[tuple[str, float, Split | None]],
    options: dict[str, Any],
    state: dict[str, Any],
    rank_is_given: bool,
) -> Loader:
    loader = kind(parts, **options)
    loader._rank_is_given = rank_is_given
    loader.load_state_dict(state)
    return loader
