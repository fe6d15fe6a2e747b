"""The loader in the place of torchvision's ``ImageFolder`` and torch's ``DataLoader``.

``loader`` takes their arguments, and torchvision's transforms as they are. ``TorchIterable`` is the
loader as a dataset for ``DataLoader``. Importing this imports torch, and not torchvision.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch.utils.data import (
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)

from fdconvert._errors import UsageError
from fdconvert._fdconvert import Dataset
from fdconvert._flat import Source, opened
from fdconvert._groups import Output, Ranks
from fdconvert._loader import Loader, Pair
from fdconvert._sampling import Order, Sampling, Sequential, Shuffle, Weighted
from fdconvert._torchvision import Step, converted

__all__ = ["FolderLoader", "Step", "TorchIterable", "loader"]

IGNORED = {
    "in_order",
    "multiprocessing_context",
    "persistent_workers",
    "pin_memory_device",
    "prefetch_factor",
    "timeout",
}
"""Arguments of ``DataLoader`` about its workers, which are not there."""

CURES = {
    "batch_sampler": "pass `batch_size`, and a `sampler`: batches are cut from its order",
    "collate_fn": "apply it to the batch in the loop; torchvision's MixUp and CutMix take (images, labels)",
    "generator": "pass seed=generator.initial_seed()",
    "is_valid_file": "choose samples by fdconvert.Dataset(path).where(expression) or .select(positions)",
    "loader": "pass the path: fdconvert decodes the files",
    "output": "batches are torch's tensors here; fdconvert.Loader has others",
    "sampling": "pass it as `sampler`",
    "target_transform": "apply it to the labels in the loop, or give their names in order by `classes`",
    "threads": "pass it as `num_workers`",
    "worker_init_fn": "there are no workers; `seed` seeds what transforms draw",
}
"""Arguments that have no counterpart, and what to do instead."""


class FolderLoader(Loader):
    """``Loader``, as ``loader`` makes it: with what ``ImageFolder`` has, and what became of its list."""

    plan: Sequence[Step] = ()
    """Where each transform runs: ``print(*loader.plan, sep="\\n")``."""

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class by its name."""
        return {name: number for number, name in enumerate(self.classes or [])}

    def __reduce__(self) -> tuple[Any, ...]:
        return (*super().__reduce__(), {"plan": self.plan})


def loader(
    dataset: Any,
    batch_size: int = 1,
    *,
    shuffle: bool = False,
    transform: Any = None,
    sampler: Any = None,
    num_workers: int = 0,
    pin_memory: bool = False,
    drop_last: bool = False,
    seed: int = 0,
    **options: Any,
) -> FolderLoader:
    """Return the loader of ``DataLoader(ImageFolder(root, transform), batch_size, ...)``.

    - ``dataset``: a path, a ``fdconvert.Dataset``, an ``ImageFolder``, or a ``Subset`` of one.
    - ``batch_size``: rows on this rank.
    - ``shuffle``: whether samples come in a random order; else in that of the dataset.
    - ``transform``: a transform of torchvision, any function of an image, or a list of
      ``fdconvert.transforms``; by default that of the ``ImageFolder``.
    - ``sampler``: one of torch's samplers, a list of positions, or one of fdconvert's samplings.
    - ``num_workers``: threads that decode; 0 means one per core.
    - ``pin_memory``: whether to copy batches to pinned memory.
    - ``drop_last``: whether to leave out the last batch if it is not full.
    - ``seed``: draws the order, and all that transforms draw.
    - ``options``: other options of ``fdconvert.Loader``. Those of ``DataLoader`` about workers are
      ignored; others that have no counterpart are refused with what to do instead.

    Photos are not turned by EXIF, unless ``orient=True``. Transforms that fdconvert does not have
    run in this process, on the thread of the loop: ``plan`` of the loader tells which.
    """
    for name in options.keys() & CURES.keys():
        if options.pop(name) is not None:
            raise UsageError(f"{name}: fdconvert.torch.loader has none; {CURES[name]}")
    options = {name: value for name, value in options.items() if name not in IGNORED}
    source, of_folder = _source(dataset)
    if transform is not None and of_folder is not None:
        raise UsageError("transform: the ImageFolder has one; leave it out here or there")
    conversion = converted(of_folder if transform is None else transform)
    if not conversion.has_one_size:
        if options.keys() & {"sizes", "views"}:
            steps = "; ".join(str(step) for step in conversion.plan if step.runs != "native")
            what = "`sizes` and `views` need a list that fdconvert has whole, with one size"
            raise UsageError(f"transform: {what}: {steps or 'end it with a crop'}")
        options["sizes"] = "own"
    if drop_last and "ranks" in options:
        raise UsageError('drop_last: pass ranks=fdconvert.Ranks(..., last="drop") instead')
    if type(sampler) is DistributedSampler:
        if "ranks" in options:
            raise UsageError("ranks: the DistributedSampler has them; leave one of them out")
        if sampler.drop_last and not drop_last:
            raise UsageError("sampler: its drop_last is that of batches here: pass drop_last=True to the loader")
        # The same number of rows on each rank, of which the last ones come again.
        last = "drop" if drop_last else "pad"
        options["ranks"] = Ranks(sampler.rank, sampler.num_replicas, last=last)  # type: ignore[arg-type]
        seed = seed or sampler.seed
    options.setdefault("ranks", Ranks(last="drop" if drop_last else "short"))
    if type(sampler) is SubsetRandomSampler:
        source = opened(source).select(list(sampler.indices))
    made = FolderLoader(
        source,
        batch_size,
        seed=seed,
        transform=conversion.transforms,
        sampling=_sampling(sampler, shuffle),
        threads=num_workers,
        output=Output("torch", pin_memory),
        **{"orient": False} | options,
    )
    made.plan = conversion.plan
    return made


def _source(dataset: Any) -> tuple[Source, Any]:
    """Return the samples of a dataset, and the transform that it has for its images."""
    if type(dataset) is Subset:
        source, transform = _source(dataset.dataset)
        return opened(source).select([int(position) for position in dataset.indices]), transform
    kind = type(dataset)
    if (kind.__module__, kind.__name__) != ("torchvision.datasets.folder", "ImageFolder"):
        return dataset, None
    if dataset.target_transform is not None:
        raise UsageError(f"target_transform: the ImageFolder has one; {CURES['target_transform']}")
    if dataset.loader.__name__ != "default_loader":
        raise UsageError(f"loader: the ImageFolder has one; {CURES['loader']}")
    root = os.path.expanduser(dataset.root)
    source = Dataset(root, split="all")
    positions = {source.key(position): position for position in range(len(source))}
    keys = [Path(path).relative_to(root).as_posix() for path, _ in dataset.samples]
    strange = next((key for key in keys if key not in positions), None)
    if strange is not None or source.classes != dataset.classes:
        what = f"fdconvert does not find the {strange or 'classes'} of the ImageFolder in {root}"
        raise UsageError(f"dataset: {what}; pass the path to load what it finds")
    chosen = [positions[key] for key in keys]
    # It sorts nested folders in another way, and may have fewer samples.
    return source if chosen == list(range(len(source))) else source.select(chosen), dataset.transform


def _sampling(sampler: Any, shuffle: bool) -> Sampling:
    """Return the sampling of a sampler, or without one by ``shuffle``."""
    if sampler is None:
        return Shuffle() if shuffle else Sequential()
    if shuffle:
        raise UsageError("shuffle: the sampler has the order; leave one of them out")
    if isinstance(sampler, Sampling):
        return sampler
    if type(sampler) is DistributedSampler:
        return Shuffle() if sampler.shuffle else Sequential()
    if type(sampler) is SequentialSampler:
        return Sequential()
    if type(sampler) is WeightedRandomSampler:
        return Weighted(sampler.weights, sampler.num_samples, sampler.replacement)
    if type(sampler) is SubsetRandomSampler or _is_permutation(sampler):
        return Shuffle()
    if isinstance(sampler, (list, tuple, range)):
        return Order(sampler)
    what = f"{type(sampler).__name__} has no counterpart"
    raise UsageError(f"sampler: {what}; pass a list of positions, or fdconvert.Order(function of the epoch)")


def _is_permutation(sampler: Any) -> bool:
    is_random = type(sampler) is RandomSampler
    return is_random and not sampler.replacement and sampler.num_samples == len(sampler.data_source)


class TorchIterable(IterableDataset):
    """``Loader`` for ``torch.utils.data.DataLoader(TorchIterable(...), batch_size=None)``.

    It has the options of ``Loader`` and yields batches of tensors; text, JSON and bytes in ``fields``
    stay lists. Leave ``num_workers`` at 0, because the loader already uses threads. Checkpoints work
    as in ``Loader``, also by ``StatefulDataLoader``.
    """

    def __init__(self, dataset: Source, batch_size: int = 64, **options: Any) -> None:
        super().__init__()
        output = options.setdefault("output", "torch")
        if output != "torch" and getattr(output, "kind", None) != "torch":
            raise UsageError('output: TorchIterable only supports output="torch"')
        self.loader = Loader(dataset, batch_size, **options)

    def __iter__(self) -> Iterator[Pair]:
        """Begin the epoch, or resume a restored one."""
        if get_worker_info() is not None:
            what = "pass num_workers=0 to DataLoader: fdconvert decodes on its own threads"
            raise UsageError(f"num_workers: {what}, and every worker would yield every batch")
        return iter(self.loader)

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch."""
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return a checkpoint after the last returned batch."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a checkpoint. Only allowed before the first batch of an epoch."""
        self.loader.load_state_dict(state_dict)
