"""Data loaders for DLIO, the engine of MLPerf Storage, that read a packed dataset.

DLIO finds them by name: ``reader.data_loader_classname=fdconvert.dlio.StoredImages`` and
``reader.data_loader_sampler=iterative``. ``StoredImages`` yields images as stored bytes,
``DecodedImages`` batches of pixels.

The dataset is the one next to DLIO's folder of files: ``train.beton``, or another whose name begins
with ``train.``, in ``dataset.data_folder``, and ``valid.beton`` for evaluation. The environment
variables ``FDCONVERT_DLIO_TRAIN`` and ``FDCONVERT_DLIO_VALID`` set other paths or URLs. Without
either, the loaders read the folder of files itself.
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import fdconvert
from fdconvert import transforms
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
    """Return the path of the dataset ``train`` or ``valid``."""
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
    """Common part of both loaders: the dataset, and the rank's share of its samples."""

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
                f"{self.path} has {n_samples} samples, but the workload needs {self.num_samples}"
            )

    def _seed(self) -> int:
        """Return the seed: equal on all ranks, and new in each epoch if the workload says so."""
        epoch = self.epoch_number if self._args.seed_change_epoch else 0
        return int(self._args.seed) + int(epoch)


class StoredImages(_Packed):
    """Batches of images as stored bytes, after a check of their checksums.

    DLIO's readers of MLPerf Storage 3.0 do the same with files: they keep the bytes and decode
    nothing. ``read_threads`` threads read ``prefetch_size`` batches ahead.
    """

    def read(self) -> None:
        """Open the dataset, in the same time for any number of samples."""
        self._dataset = fdconvert.Dataset(self.path, decode=None)
        self._check(len(self._dataset))
        fields = self._dataset.schema["fields"]
        images = [field["name"] for field in fields if field["kind"] == "image"]
        if not images:
            raise fdconvert.UsageError(f"{self.path} has no image field")
        self._field = images[0]

    def next(self) -> Iterator[list[bytes]]:
        """Yield the batches of one epoch."""
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
            # DLIO leaves the loop early when it has enough steps.
            pool.shutdown(cancel_futures=True)
            self.epoch_number += 1

    def _stored(self, index: int) -> bytes:
        stored: bytes = self._dataset.get(index)[self._field]["bytes"]
        return stored

    def finalize(self) -> None:
        """Do nothing: only the dataset stays open."""


class DecodedImages(_Packed):
    """Batches of pixels from ``fdconvert.Loader``, decoded by ``read_threads`` threads.

    Their size is ``reader.transformed_record_dims`` (height, width, ...), by default 224 pixels.
    """

    def read(self) -> None:
        """Open the dataset; threads start with the first batch."""
        dims = [int(side) for side in self._args.transformed_record_dims or ()]
        height, width = (dims[0], dims[1]) if len(dims) > 1 else (224, 224)
        # The share of the image that 224 of 256 pixels are.
        short_side = round(max(height, width) * 256 / 224)
        self._loader = fdconvert.Loader(
            self.path,
            batch_size=self.batch_size,
            seed=int(self._args.seed),
            threads=self._threads,
            transform=[transforms.Resize(short_side), transforms.CenterCrop((height, width))],
            label=None,
            sampling=fdconvert.Shuffle() if self._shuffle else fdconvert.Sequential(),
            ranks=fdconvert.Ranks(self._rank, self._world_size, last="drop"),
            prefetch=max(2, self._args.prefetch_size),
        )
        self._check(len(self._loader) * self.batch_size * self._world_size)

    def next(self) -> Iterator[Any]:
        """Yield the batches of one epoch."""
        super().next()
        self._loader.set_epoch(self.epoch_number if self._args.seed_change_epoch else 0)
        for batch in self._loader.batches():
            yield batch.images
        self.epoch_number += 1

    def finalize(self) -> None:
        """Do nothing: the next epoch drops prefetched batches."""
