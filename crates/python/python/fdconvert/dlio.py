"""Data loaders for DLIO, the engine of MLPerf Storage, that read a packed dataset.

DLIO takes them by name: ``reader.data_loader_classname=fdconvert.dlio.StoredImages`` and
``reader.data_loader_sampler=iterative``. ``StoredImages`` hands over the bytes of images as they are
stored, ``DecodedImages`` batches of pixels.

The dataset is the one next to DLIO's folder of files: ``train.beton`` (or any other dataset whose name
begins with ``train.``) in ``dataset.data_folder``, and ``valid.beton`` for the evaluation. The
variables ``FDCONVERT_DLIO_TRAIN`` and ``FDCONVERT_DLIO_VALID`` name others, also by URL. Without
either, the folder of files itself is read.
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import fdconvert
from fdconvert._dlio_order import Shuffled

try:
    from dlio_benchmark.common.enumerations import DataLoaderType
    from dlio_benchmark.data_loader.base_data_loader import BaseDataLoader
except ImportError as cause:
    raise ImportError(
        "fdconvert.dlio needs DLIO, which is not installed here; "
        "see https://github.com/argonne-lcf/dlio_benchmark"
    ) from cause


def dataset_path(data_folder: str, name: str) -> str:
    """Where the dataset of that name (``train`` or ``valid``) is."""
    named = os.environ.get(f"FDCONVERT_DLIO_{name.upper()}")
    if named:
        return named
    entries = os.listdir(data_folder) if os.path.isdir(data_folder) else []
    packed = sorted(entry for entry in entries if entry.startswith(f"{name}."))
    if len(packed) > 1:
        raise fdconvert.UsageError(
            f"{data_folder} has several datasets: {', '.join(packed)}; "
            f"name one with FDCONVERT_DLIO_{name.upper()}"
        )
    return os.path.join(data_folder, packed[0] if packed else name)


class _Packed(BaseDataLoader):  # type: ignore[misc]  # DLIO is not typed.
    """What both loaders do alike: which dataset, and which samples are those of this rank."""

    def __init__(self, format_type: Any, dataset_type: Any, epoch_number: int) -> None:
        super().__init__(format_type, dataset_type, epoch_number, DataLoaderType.PYTORCH)
        self.path = dataset_path(self._args.data_folder, str(dataset_type))
        self._rank = self._args.my_rank
        self._world_size = self._args.comm_size
        self._shuffle = str(self._args.sample_shuffle) != "off"
        self._threads = max(1, self._args.read_threads)

    def _check(self, n_samples: int) -> None:
        if n_samples < self.num_samples:
            raise fdconvert.UsageError(
                f"{self.path} has {n_samples} samples, and the workload {self.num_samples}"
            )

    def _seed(self) -> int:
        """The same on all ranks, and another one in each epoch where the workload says so."""
        epoch = self.epoch_number if self._args.seed_change_epoch else 0
        return int(self._args.seed) + int(epoch)


class StoredImages(_Packed):
    """Batches are lists of images as they are stored, compared with their checksums.

    That is what DLIO's readers of MLPerf Storage 3.0 do with files: they keep the bytes and decode
    none. ``read_threads`` threads read ``prefetch_size`` batches ahead.
    """

    def read(self) -> None:
        """Open the dataset, which takes the same time for any number of samples."""
        self._dataset = fdconvert.Dataset(self.path, decode=None)
        self._check(len(self._dataset))
        fields = self._dataset.schema["fields"]
        images = [field["name"] for field in fields if field["kind"] == "image"]
        if not images:
            raise fdconvert.UsageError(f"{self.path} has no field of images")
        self._field = images[0]

    def next(self) -> Iterator[list[bytes]]:
        """The batches of one epoch."""
        super().next()
        own = math.ceil(self.num_samples / self._world_size)
        start = self._rank * own
        own = max(0, min(own, self.num_samples - start))
        at: Callable[[int], int] = (
            Shuffled(self.num_samples, self._seed()).at if self._shuffle else lambda place: place
        )
        ahead = max(2, self._args.prefetch_size)
        waiting: deque[list[Future[bytes]]] = deque()
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="fdconvert-dlio")
        try:
            for first in range(0, own - self.batch_size + 1, self.batch_size):
                places = range(start + first, start + first + self.batch_size)
                waiting.append([pool.submit(self._stored, at(place)) for place in places])
                if len(waiting) > ahead:
                    yield [image.result() for image in waiting.popleft()]
            while waiting:
                yield [image.result() for image in waiting.popleft()]
        finally:
            # DLIO leaves the loop early where it has its steps.
            pool.shutdown(cancel_futures=True)
            self.epoch_number += 1

    def _stored(self, index: int) -> bytes:
        stored: bytes = self._dataset.get(index)[self._field]["bytes"]
        return stored

    def finalize(self) -> None:
        """Nothing is open between epochs but the dataset."""


class DecodedImages(_Packed):
    """Batches of pixels by ``fdconvert.Loader``, with ``read_threads`` threads that decode.

    The size is that of ``reader.transformed_record_dims`` (height, width, ...), or 224 pixels.
    """

    def read(self) -> None:
        """Open the dataset; threads start with the first batch."""
        dims = [int(side) for side in self._args.transformed_record_dims or ()]
        size = (dims[0], dims[1]) if len(dims) > 1 else 224
        self._loader = fdconvert.Loader(
            self.path,
            batch_size=self.batch_size,
            seed=int(self._args.seed),
            threads=self._threads,
            size=size,
            label=None,
            shuffle=self._shuffle,
            last="drop",
            rank=self._rank,
            world_size=self._world_size,
            prefetch=max(2, self._args.prefetch_size),
        )
        self._check(len(self._loader) * self.batch_size * self._world_size)

    def next(self) -> Iterator[Any]:
        """The batches of one epoch."""
        super().next()
        self._loader.set_epoch(self.epoch_number if self._args.seed_change_epoch else 0)
        for batch in self._loader.batches():
            yield batch.images
        self.epoch_number += 1

    def finalize(self) -> None:
        """Batches that were made ahead are dropped by the next epoch."""
