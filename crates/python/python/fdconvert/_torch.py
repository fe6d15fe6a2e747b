"""The loader as an ``IterableDataset``. Importing this imports torch."""

from collections.abc import Iterator
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from fdconvert._errors import UsageError
from fdconvert._loader import Loader, Pair
from fdconvert._flat import Source


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
