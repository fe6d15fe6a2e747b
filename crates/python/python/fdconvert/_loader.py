"""The loader: batches for training, as arrays of NumPy, torch or neither."""

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

from fdconvert import _fdconvert
from fdconvert._batch import Batch, BatchObjects, Geometry
from fdconvert._errors import UsageError
from fdconvert._exchange import close_at_exit
from fdconvert._fdconvert import Dataset
from fdconvert._flat import (
    Policy,
    Source,
    cache_of,
    cuda_of,
    device_of,
    errors_of,
    objects_of,
    opened,
    output_of,
    prefetch_of,
    ranks_of,
    storage_of,
)
from fdconvert._groups import Cache, Cuda, Objects, Output, Prefetch, Ranks, Storage
from fdconvert._outputs import (
    CONVERTERS,
    available,
    available_on_device,
    buffer_of,
    check_output,
    copy_into,
    is_no_array,
    nvjpeg,
    pin_function,
    pinned,
)
from fdconvert._ranks import check_ranks, rank_of_process
from fdconvert._sampling import Sampling, Sequential, Shuffle, engine_of
from fdconvert._sizes import Sizes, check_sizes, sizes_of
from fdconvert._views import ONLY, Functions, ViewGroup, Views, by_group, groups_of, lists_of, masks_of, not_on_gpu
from fdconvert.transforms import Transform

Pair: TypeAlias = tuple[Any, ...]
"""Images and labels, followed by the dictionary of fields if any were requested. The labels are
``None`` with ``label=None``."""

STATE_VERSION = 1
SHUFFLE = Shuffle()


class Loader:
    """Makes batches of a dataset on its own threads, ahead of the loop that uses them.

    ::

        train = fdconvert.Dataset("shards").split("train")
        loader = fdconvert.Loader(train, 256, transform=fdconvert.transforms.imagenet_train(224))
        for epoch in range(90):
            loader.set_epoch(epoch)
            for images, labels in loader:
                ...

    - ``dataset``: a ``Dataset``, or anything that ``Dataset`` opens; ``concat`` and ``mix`` join several.
    - ``batch_size``: rows on this rank.
    - ``seed``: draws the order, and all that transforms draw.
    - ``transform``: a list of ``fdconvert.transforms``; by default ``[Resize(256), CenterCrop(224)]``.
    - ``views``: how often each image is drawn from ``transform``, or ``{name: (number, list)}``.
    - ``view_layout``: ``"views"`` for arrays of (views, rows, ...), or ``"rows"`` for (rows, views, ...).
    - ``sizes``: ``Buckets(...)``, ``Patches(...)`` or ``"own"`` for images that keep their shape.
    - ``sampling``: how the samples of an epoch are chosen and ordered, such as ``Sequential()``.
    - ``label``: the field with the labels; ``"auto"`` is that of the dataset, ``None`` means no labels.
    - ``classes``: the class names in the order of their numbers; by default those of the dataset.
    - ``fields``: names of further fields that batches have.
    - ``masks``: names of image fields that hold a label for each pixel; a dictionary has the value
      around each, where the image is padded or turned.
    - ``objects``: the field with boxes, keypoints and polygons, or ``Objects(...)``.
    - ``geometry``: whether batches have the placement of the image in each row.
    - ``orient``: whether to turn photos upright by EXIF.
    - ``ranks``: ``Ranks(...)``: the share of this process; by default the launcher's.
    - ``errors``: where a sample fails: ``"raise"``, ``Skip()``, ``Substitute()`` or ``Quarantine(path)``.
    - ``threads``: threads that decode; 0 means one per core.
    - ``prefetch``: batches made ahead, or ``Prefetch(...)``.
    - ``cache``: bytes of images that stay in memory, or ``Cache(...)``.
    - ``storage``: ``Storage(...)``: how samples are read.
    - ``device``: ``"cuda"``, ``"cuda:1"`` or ``Cuda(...)``: a GPU decodes, and has the batches.
    - ``output``: ``"auto"``, ``"numpy"``, ``"torch"``, ``"array"`` or ``Output(...)``.

    Contents and order of batches do not depend on threads, prefetching or the failures of other
    samples. Images are views of the loader's memory, which it reuses when nothing refers to them any
    more: keep copies.

    A loop is one epoch, and the next loop the next epoch; where a loop is left before its last batch,
    the next one begins where that one began. A forked or pickled loader continues after the last batch that this
    one returned, but without an ``exchange``.
    """

    def __init__(
        self,
        dataset: Source,
        batch_size: int = 64,
        *,
        seed: int = 0,
        transform: Iterable[Transform] | None = None,
        views: Views | None = None,
        view_layout: Literal["views", "rows"] = "views",
        sizes: Sizes = "one",
        sampling: Sampling = SHUFFLE,
        label: str | None = "auto",
        classes: Sequence[str] | None = None,
        fields: Sequence[str] = (),
        masks: Sequence[str] | Mapping[str, int] = (),
        objects: str | Objects | None = None,
        geometry: bool = False,
        orient: bool = True,
        ranks: Ranks | None = None,
        errors: Literal["raise"] | Policy = "raise",
        threads: int = 0,
        prefetch: int | Prefetch = 3,
        cache: int | Cache | None = None,
        storage: Storage | None = None,
        device: str | Cuda | None = None,
        output: Literal["auto", "numpy", "torch", "array"] | Output = "auto",
    ) -> None:
        # It is read more than once.
        transform = list(transform) if isinstance(transform, Iterable) else transform
        ranks = Ranks() if ranks is None else ranks
        if not isinstance(ranks, Ranks):
            raise TypeError(f"ranks: {ranks!r} is no fdconvert.Ranks")
        cuda, output = cuda_of(device), output_of(output)
        kind = available(output.kind) if cuda is None else available_on_device(output.kind)
        check_output(output, kind, on_device=cuda is not None)
        self._rank_is_given = ranks.world_size is not None
        rank, world_size = rank_of_process(ranks)
        flat_sizes, batch_size = sizes_of(sizes, batch_size)
        self._has_sizes = sizes != "one"
        if self._has_sizes and transform is None and views is None:
            transform = []
        plain: dict[str, Any] = {
            "batch_size": batch_size,
            "seed": seed,
            "view_layout": view_layout,
            "label": label,
            "classes": _class_list(classes),
            "fields": fields if isinstance(fields, str) else list(fields),
            "geometry": geometry,
            "orient": orient,
            "threads": threads,
        }
        self._groups = groups_of(transform, views)
        self._functions = Functions(self._groups, view_layout)
        if kind != "torch" and any(group.is_bfloat16 for group in self._groups):
            raise UsageError('output: bf16 is a type of torch alone; use output="torch", or ToDtype("f32")')
        if any(it.is_bfloat16 and any(not f.batch for f in it.functions) for it in self._groups):
            raise UsageError("transform: NumPy has no rows of bf16; use Function(f, batch=True)")
        if cuda is not None and any(not it.batch for group in self._groups for it in group.functions):
            raise UsageError("transform: rows on a GPU are no NumPy arrays; use Function(f, batch=True)")
        if output.out is not None and [it.n_views for it in self._groups] != [1]:
            raise UsageError("Output.out: it holds one view of each image; leave `views` out")
        check_sizes(flat_sizes["sizes"], output, self._groups)
        is_default = transform is None and views is None
        lists = [] if is_default else [(it.name, it.n_views, it.spec) for it in self._groups]
        engine = plain | {"sampling": engine_of(sampling), "views": lists, "masks": masks_of(masks)}
        engine |= flat_sizes | objects_of(objects) | ranks_of(ranks, rank, world_size) | errors_of(errors)
        engine |= prefetch_of(prefetch) | cache_of(cache) | storage_of(storage) | device_of(cuda)
        engine["nvjpeg"] = None if cuda is None else nvjpeg()
        # What a pickled loader is made of: with this rank and kind of arrays, without the exchange.
        self._arguments = plain | {
            "transform": transform,
            "views": lists_of(self._groups) if isinstance(views, Mapping) else views,
            "masks": dict(engine["masks"]),
            "sizes": sizes,
            "sampling": sampling,
            "objects": objects,
            "ranks": Ranks(rank, world_size, ranks.last, ranks.locality),
            "errors": errors,
            "prefetch": prefetch,
            "cache": cache,
            "storage": storage,
            "device": cuda,
            "output": Output(kind, output.pin_memory, output.out),  # type: ignore[arg-type]
        }
        self._rank, self._world_size = rank, world_size
        self._has_fields = bool(plain["fields"] or engine["masks"] or objects is not None)
        self._on_device, self._is_torch = cuda is not None, kind == "torch"
        self._convert = CONVERTERS[kind]()
        self._pins = output.pin_memory
        self._pin: Callable[[Any], Any] | None = None
        if output.out is None:
            self._targets: list[Any] = []
        else:
            targets = output.out if isinstance(output.out, (list, tuple)) else [output.out]
            self._targets = list(targets) if self._on_device else list(map(buffer_of, targets))
        self._n_returned = 0
        # Whether a batch of this epoch was taken here; not after its end.
        self._under_way = False
        # Positions after the last delivered batch, and where a function failed after it.
        self._delivered: str | None = None
        self._failed_at: str | None = None
        # The checkpoint from which this epoch was resumed.
        self._resumed: str | None = None
        # Batches of the current loop, and how often the epoch was left after more than one.
        self._n_in_loop = self._n_repeated = 0
        self._is_told_of_epochs = False
        self._sampling = sampling
        # Number of the current loop; earlier ones get an error.
        self._turn = 0
        self._is_told = cuda is not None and cuda.decoder == "cpu"
        self._exchanges = ranks.exchange is not None
        self._dataset = opened(dataset)
        self._source = _fdconvert.BatchSource(self._dataset, engine)
        if cuda is not None and (named := not_on_gpu(self._groups)):
            what = (
                f"fdconvert.Loader: the GPU does not have {', '.join(named)}: rows for which they draw "
                "a change are made by the CPU and uploaded"
            )
            warnings.warn(what, RuntimeWarning, stacklevel=2)
        if self._exchanges:
            close_at_exit(self)

    def __iter__(self) -> Iterator[Pair]:
        """Begin the epoch, or resume a restored one, and yield ``(images, labels)``.

        With ``fields``, ``masks`` or ``objects`` it yields ``(images, labels, fields)``, where
        ``fields`` is a dictionary.
        """
        return _Pairs(self, self._begin())

    def batches(self) -> Iterator[Batch]:
        """Begin the epoch, or resume a restored one, and yield ``Batch`` objects."""
        return _Batches(self, self._begin())

    def ideal(self) -> Iterator[Pair]:
        """Yield the first batch as often as an epoch has batches, and leave the epoch where it is.

        A training loop over it takes the time that it would take with a loader that costs nothing:
        the most that a faster one could bring. It trains on nothing else, so keep no checkpoint.
        """
        first = next(iter(self), None)
        if first is None:
            return
        self._leave()
        for _ in range(len(self)):
            yield first

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch, which is the same on all ranks."""
        return len(self._source)

    @property
    def dataset(self) -> Dataset:
        """The dataset, with the samples that batches are made of."""
        return self._dataset

    @property
    def classes(self) -> list[str] | None:
        """The class names, in the order of the labels' numbers; ``None`` without."""
        return self._source.classes()

    @property
    def n_samples(self) -> int:
        """The number of samples in an epoch, on all ranks together."""
        return self._source.n_samples()

    @property
    def rank(self) -> int:
        """The number of this process among those that train together."""
        return self._rank

    @property
    def world_size(self) -> int:
        """The number of processes that train together."""
        return self._world_size

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._source.epoch()

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch. An epoch that was restored midway resumes there."""
        if self._under_way or epoch != self._source.epoch():
            self._source.begin(epoch)
            self._failed_at = None
            self._begins_where(None)
        self._under_way = False
        self._turn += 1

    def state_dict(self) -> dict[str, Any]:
        """Return a checkpoint after the last returned batch.

        It is a small dictionary for JSON or ``torch.save``, and the same on every rank. The number of
        ranks, the batch size, the threads and the transforms may differ when it is loaded; ``views``
        tells which transforms made the batches so far, and ``datasets`` which versions they are of.
        """
        views = {group.name: group.shown() for group in self._groups}
        state = self._failed_at or self._source.state()
        datasets = [version and list(version) for version in self._source.versions()]
        return {"state": state, "version": STATE_VERSION, "views": views, "datasets": datasets}

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
        try:
            self._source.restore(state_dict["state"])
        except UsageError as error:
            self._refuse_other_versions(state_dict.get("datasets"), error)
            raise
        self._failed_at = None
        self._begins_where(state_dict["state"])

    def _refuse_other_versions(self, datasets: object, error: UsageError) -> None:
        """Say which version of a dataset a checkpoint is of, if that is why it does not fit."""
        before = datasets if isinstance(datasets, list) else []
        for then, now in zip(before, self._source.versions(), strict=False):
            if then and now and then[1] != now[1]:
                name, number = then
                raise UsageError(
                    f"state: it is of version {number} of {name}, and this is version {now[1]}: "
                    f"load {name}@{number}, if an edit has kept it (fdconvert.log lists them)"
                ) from error

    def stats(self) -> dict[str, Any]:
        """Return counts and times since the start or the last reset.

        Times end in ``_s`` and are in seconds; those of ``fetch``, ``decode``, ``draw`` and ``render``
        are summed over threads. ``stalled_s`` is the time that the loop waited for batches, and
        ``stall_p99_s`` the wait that 99 % of the batches did not exceed. ``verdict`` names the
        bottleneck: ``"consumer-bound"``, ``"disk-bound"``, ``"decode-bound"``, ``"render-bound"`` for
        drawn images, or ``"function-bound"`` where functions of Python take more than half of the
        time; ``None`` before the first batch. ``batches_kept`` counts batches whose
        memory is still in use. ``jpeg_entropy`` is how this process reads the codes of JPEGs with
        entry points, ``"lanes"`` or ``"streams"``; ``None`` until a few were decoded both ways to
        know which is faster. ``fields_left_out`` lists fields of the dataset that batches lack;
        request them by ``fields``. ``function_s`` is the time that functions of Python took.
        """
        stats = self._source.stats() | {"function_s": self._functions.seconds}
        # They run in the loop, so the loader's threads count them as time of the training.
        if stats["function_s"] > stats["elapsed_s"] / 2:
            stats["verdict"] = "function-bound"
        return stats

    def reset_stats(self) -> None:
        """Reset the statistics."""
        self._functions.seconds = 0.0
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
        ranks = f", ranks=fdconvert.Ranks({self.rank}, {self.world_size})" if self.world_size > 1 else ""
        return f"fdconvert.Loader({self._dataset!r}, batch_size={self._arguments['batch_size']}{ranks})"

    def __reduce__(self) -> tuple[Any, ...]:
        made = (type(self), self._dataset, self._arguments)
        return _restored, (*made, self.state_dict(), self._rank_is_given)

    def _begin(self) -> int:
        if not self._rank_is_given:
            check_ranks(self.rank, self.world_size)
        if self._under_way:
            self._leave()
        if self._pins and self._pin is None:
            self._pin = pin_function()
        self._turn += 1
        self._n_in_loop = 0
        self._failed_at = self._delivered = None
        return self._turn

    def _leave(self) -> None:
        """Go where the next loop begins, after one that did not see its end."""
        self._under_way = False
        epoch, state = self._source.epoch(), self._failed_at or self._source.state()
        self._source.begin(epoch)
        # What counts its batches does not look for the end after the last one.
        self._source.restore(state)
        if self._source.epoch() != epoch:
            self._begins_where(None)
        elif self._resumed is None:
            self._source.begin(epoch)
        else:
            self._source.restore(self._resumed)
        if self._source.epoch() == epoch:
            self._say_what_is_repeated(epoch)

    def _begins_where(self, resumed: str | None) -> None:
        """Note where the epoch begins: in a checkpoint, or at its start."""
        self._resumed = resumed
        self._n_repeated = 0

    def _say_what_is_repeated(self, epoch: int) -> None:
        """Warn once when a training seems to take the same samples in each of its own epochs."""
        self._n_repeated += self._n_in_loop > 1
        if self._n_repeated < 2 or self._is_told_of_epochs or isinstance(self._sampling, Sequential):
            return
        self._is_told_of_epochs = True
        what = (
            f"fdconvert.Loader: epoch {epoch} begins again, with the same samples, because the last "
            f"loops were left before their end; loader.set_epoch({epoch + 1}) begins another one"
        )
        warnings.warn(what, RuntimeWarning, stacklevel=5)

    def _say_who_decoded(self) -> None:
        """Warn once if the CPU decoded much of what the GPU should have."""
        stats = self.stats()
        if self._is_told or stats["decoded_by_cpu"] * 10 < stats["samples"]:
            return
        self._is_told = True
        what = (
            f"fdconvert.Loader: the CPU decoded {stats['decoded_by_cpu']} of {stats['samples']} "
            "images. The GPU decodes JPEGs with entry points, which are stored by default, others by "
            "nvJPEG if it is installed, and draws fractals of one gray by lanes64-v1 that need no resizing; "
            "its transforms are crops, resizes, horizontal flips, brightness, posterize, solarize, "
            "invert and equalize"
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

    def _keys(self, samples: Any, occurrences: Any, epoch: int) -> Sequence[tuple[int, ...]]:
        """Return what the seeds of functions follow from, for each row."""
        rows = zip(memoryview(samples).tolist(), memoryview(occurrences).tolist(), strict=True)
        return [(self._arguments["seed"], epoch, *row) for row in rows]

    def _converted(self, array: Any) -> Any:
        return array if is_no_array(array) else self._convert(array)

    def _converted_images(self, images: Any) -> Any:
        return [self._convert(row) for row in images] if isinstance(images, list) else self._convert(images)

    def _geometry(self, view: dict[str, Any]) -> Geometry:
        return Geometry(**{name: self._convert(array) for name, array in view.items()})

    def _converted_column(self, column: Any) -> Any:
        if isinstance(column, tuple):
            return by_group(self._groups, [self._converted_column(view) for view in column])
        if isinstance(column, dict):
            return BatchObjects(**{name: self._convert(array) for name, array in column.items()})
        return self._converted(column)

    def _next(self, turn: int) -> Batch | None:
        if turn != self._turn:
            raise UsageError("loader: it was closed, set to an epoch or iterated again during this loop")
        n_targets = len(self._targets)
        target = self._targets[self._n_returned % n_targets] if n_targets else None
        if self._delivered is None:
            self._delivered = self._source.state()
        try:
            parts = self._source.next(None if self._on_device else target)
        except KeyboardInterrupt:
            raise
        except BaseException:
            # The next loop begins where this one did.
            self._under_way = True
            raise
        self._under_way = parts is not None
        if self._exchanges:
            self._say_what_is_read()
        if parts is None:
            self._begins_where(None)
            if self._on_device:
                self._say_who_decoded()
            return None
        self._n_returned += 1
        self._n_in_loop += 1
        images: Any
        images, *arrays, occurrences, epoch, step, state, columns, rows = parts
        keys = self._keys(arrays[1], occurrences, epoch) if self._functions.are_seeded else []
        labels, samples, valid, substituted = map(self._converted, arrays)
        images = images if isinstance(images, dict) else {ONLY: images}
        try:
            images = self._functions.apply(images, self._converted_images, keys)
        except BaseException:
            # The engine has moved on, but the batch was not delivered.
            self._failed_at = self._delivered
            raise
        self._delivered = state
        # Samples without images have no group.
        images = images.get(ONLY) if set(images) <= {ONLY} else images
        fields = {name: self._converted_column(column) for name, column in columns.items()}
        geometry = None
        if rows:
            geometry = by_group(self._groups, [self._geometry(view) for view in rows])
        # From here only the converted arrays keep the memory in use.
        del parts, arrays
        if self._on_device and self._is_torch:
            if not is_no_array(labels):
                labels = labels.to(images.device, non_blocking=True)
            if target is not None:
                images = copy_into(target, images)
        if self._pin is not None:
            pin = self._pin
            if isinstance(images, dict):
                images = {name: pin(group) for name, group in images.items()}
            elif isinstance(images, list):
                images = [pin(row) for row in images]
            elif images is not None:
                images = pin(images)
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
        if self._loader._has_fields:
            return batch.images, batch.labels, batch.fields
        return batch.images, batch.labels


def _class_list(classes: Any) -> Any:
    if isinstance(classes, (set, frozenset)):
        raise TypeError("classes: a set has no order, and the order gives the numbers; pass a list")
    return classes if classes is None or isinstance(classes, str) else list(classes)


def _restored(
    kind: type[Loader],
    dataset: Dataset,
    arguments: dict[str, Any],
    state: dict[str, Any],
    rank_is_given: bool,
) -> Loader:
    loader = kind(dataset, **arguments)
    loader._rank_is_given = rank_is_given
    loader.load_state_dict(state)
    return loader
