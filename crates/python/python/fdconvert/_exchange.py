"""Exchange of samples between ranks, by torch.distributed or another library."""

import atexit
import sys
import threading
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Protocol

from fdconvert._errors import UsageError

# Longest time in a call before its thread notices that the process is exiting.
PIECE = timedelta(milliseconds=200)


class Exchange(Protocol):
    """A collective for ``Ranks(exchange=...)``, by which ranks send each other samples.

    The loader calls it on a separate thread, equally often on all ranks. It must serve one loader
    only, so that no other messages come between.

    An exception ends the exchange, and samples are read from storage from then on. Raise one if a
    rank does not answer in time.
    """

    def all_to_all(self, messages: list[bytes]) -> Sequence[bytes]:
        """Send ``messages[r]`` to each rank ``r``, including this one, and return one from each rank."""
        ...


def exchange_of(given: Any, rank: int, world_size: int) -> Exchange | None:
    """Return ``given`` as an exchange; wrap a group of torch.distributed."""
    if given is None:
        return None
    # A caller with a group has imported torch.distributed.
    distributed = sys.modules.get("torch.distributed")
    group_of_torch = getattr(distributed, "ProcessGroup", None)
    if group_of_torch is not None and isinstance(given, group_of_torch):
        return _Group(given, rank, world_size)
    if callable(getattr(given, "all_to_all", None)):
        exchange: Exchange = given
        return exchange
    what = f"{type(given).__name__} is not a torch.distributed group and has no `all_to_all`"
    raise UsageError(f"Ranks.exchange: {what}")


class _Group:
    """An exchange over a torch.distributed group with collectives on CPU tensors."""

    def __init__(self, group: Any, rank: int, world_size: int) -> None:
        import torch
        from torch import distributed

        found = distributed.get_rank(group), distributed.get_world_size(group)
        if found != (rank, world_size):
            what = "this process is rank {} of {} in the group, not {} of {}"
            raise UsageError(f"Ranks.exchange: {what.format(*found, rank, world_size)}")
        if distributed.get_backend(group) == "nccl":
            what = "nccl only moves tensors on GPUs; make another group: new_group(backend='gloo')"
            raise UsageError(f"Ranks.exchange: {what}")
        self._group = group
        self._torch = torch
        self._call = threading.Lock()
        self._is_over = False
        _groups.add(self)

    def all_to_all(self, messages: list[bytes]) -> Sequence[bytes]:
        with self._call:
            torch = self._torch
            sent = torch.tensor([len(message) for message in messages], dtype=torch.int64)
            lengths = torch.empty_like(sent)
            self._run(lengths, sent)
            due, sizes = lengths.tolist(), sent.tolist()
            data = torch.frombuffer(bytearray().join(messages), dtype=torch.uint8)
            received = torch.empty(sum(due), dtype=torch.uint8)
            self._run(received, data, due, sizes)
            return [bytes(part.numpy()) for part in received.split(due)]

    def _run(self, *call: Any) -> None:
        all_to_all: Any = self._torch.distributed.all_to_all_single
        work = all_to_all(*call, group=self._group, async_op=True)
        while not self._is_over:
            try:
                work.wait(PIECE)
            except RuntimeError:
                # `PIECE` is over, or the group timed out, or a rank is gone.
                if work.is_completed():
                    raise
            else:
                return
        raise RuntimeError("the process is exiting")

    def leave(self) -> None:
        """End the thread's call, which must not outlive the interpreter."""
        self._is_over = True
        if self._call.acquire(timeout=10):
            self._call.release()


class Leaver(Protocol):
    """A loader that takes part in an exchange."""

    def close(self) -> None:
        """Leave the exchange."""
        ...


_groups: "weakref.WeakSet[_Group]" = weakref.WeakSet()
_loaders: "weakref.WeakSet[Leaver]" = weakref.WeakSet()


def close_at_exit(loader: Leaver) -> None:
    """Close a loader at the interpreter's exit, if it still exists then."""
    _loaders.add(loader)


@atexit.register
def _leave() -> None:
    for loader in list(_loaders):
        loader.close()
    for group in list(_groups):
        group.leave()
