"""The loader as torch's kind of dataset. Importing this imports torch."""

from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from fdconvert._errors import UsageError
from fdconvert._loader import Loader, Pair
from fdconvert._parts import Part
from fdconvert._paths import StrPath


class TorchIterable(IterableDataset):
    """``Loader`` for ``torch.utils.data.DataLoader(TorchIterable(...), batch_size=None)``.

    It takes the options of ``Loader``, and yields its batches as tensors; of ``fields``, text, JSON and
    bytes stay lists. The loader has threads
    of its own, so the data loader must have no workers: leave ``num_workers`` at 0. The methods
    for checkpoints are those of ``Loader``; ``StatefulDataLoader`` finds them.
    """

    def __init__(
        self, path: StrPath | Iterable[Part], batch_size: int = 64, **options: Any
    ) -> None:
        super().__init__()
        if options.setdefault("output", "torch") != "torch":
            raise UsageError('output: a dataset of torch has output="torch"')
        self.loader = Loader(path, batch_size, **options)

    def __iter__(self) -> Iterator[Pair]:
        """Begin the next epoch, or go on in a restored one."""
        if get_worker_info() is not None:
            what = "give DataLoader num_workers=0: fdconvert decodes on its own threads"
            raise UsageError(f"num_workers: {what}, and every worker would yield every batch")
        return iter(self.loader)

    def __len__(self) -> int:
        """How many batches a whole epoch has."""
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """Make that epoch the next one."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return where to go on after the last batch that was returned."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on there. Only before the first batch of an epoch is taken."""
        self.loader.load_state_dict(state_dict)
