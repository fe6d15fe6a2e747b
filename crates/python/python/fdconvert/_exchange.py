"""How ranks send each other samples: over a group of torch.distributed, or what is like one."""

import atexit
import sys
import threading
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Protocol

from fdconvert._errors import UsageError

# How soon a process that ends gets its thread out of a call.
PIECE = timedelta(milliseconds=200)


class Exchange(Protocol):
    """What ``Loader(exchange=...)`` calls, on a separate thread, so that ranks send each other samples.

    All ranks call it equally often. It is a collective of whatever library the training has, for
    one loader alone: other messages must not come between. What it raises ends the exchange,
    and samples are read from storage from then on; so let it raise when a rank does not answer in
    time.
    """

    def all_to_all(self, messages: list[bytes]) -> Sequence[bytes]:
        """Send ``messages[r]`` to each rank ``r``, this one included, and return one of each rank."""
        ...


def exchange_of(given: Any, rank: int, world_size: int) -> Exchange | None:
    """Return what was given as an exchange; a group of torch becomes one."""
    if given is None:
        return None
    # Who has a group has imported it.
    distributed = sys.modules.get("torch.distributed")
    group_of_torch = getattr(distributed, "ProcessGroup", None)
    if group_of_torch is not None and isinstance(given, group_of_torch):
        return _Group(given, rank, world_size)
    if callable(getattr(given, "all_to_all", None)):
        exchange: Exchange = given
        return exchange
    what = f"{type(given).__name__} is no group of torch.distributed and has no `all_to_all`"
    raise UsageError(f"exchange: {what}")


class _Group:
    """A group of torch.distributed whose backend has collectives of tensors on the CPU."""

    def __init__(self, group: Any, rank: int, world_size: int) -> None:
        import torch
        from torch import distributed

        found = distributed.get_rank(group), distributed.get_world_size(group)
        if found != (rank, world_size):
            what = "this process is rank {} of {} in the group, not {} of {}"
            raise UsageError(f"exchange: {what.format(*found, rank, world_size)}")
        if distributed.get_backend(group) == "nccl":
            what = "it only has tensors on GPUs; make a group for it: new_group(backend='gloo')"
            raise UsageError(f"exchange: {what}")
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
                # Either this piece of the time is up, or the group's whole time, or a rank is gone.
                if work.is_completed():
                    raise
            else:
                return
        raise RuntimeError("this process ends")

    def leave(self) -> None:
        """Get the thread out of its call; a thread in one would not survive the interpreter."""
        self._is_over = True
        if self._call.acquire(timeout=10):
            self._call.release()


class Leaver(Protocol):
    """A loader that takes part in an exchange."""

    def close(self) -> None:
        """Leave."""
        ...


_groups: "weakref.WeakSet[_Group]" = weakref.WeakSet()
_loaders: "weakref.WeakSet[Leaver]" = weakref.WeakSet()


def close_at_exit(loader: Leaver) -> None:
    """Let a loader leave the exchange before the interpreter ends, if it still lives then."""
    _loaders.add(loader)


@atexit.register
def _leave() -> None:
    for loader in list(_loaders):
        loader.close()
    for group in list(_groups):
        group.leave()
