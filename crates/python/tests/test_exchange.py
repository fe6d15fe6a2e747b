"""Ranks that send each other samples: over gloo, over queues, and when that fails."""

import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import textwrap
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import fdconvert
from loading import CROPS, Row, rows, rows_of, small

SIZE = 3
N_SAMPLES = 12
EPOCHS = 4


class Queues:
    """What any collective is, without a library: a queue for each pair of ranks."""

    def __init__(self, rank: int, queues: list[list[Any]]) -> None:
        self.sends, self.receives = queues[rank], [row[rank] for row in queues]

    def all_to_all(self, messages: list[bytes]) -> list[bytes]:
        for target, message in zip(self.sends, messages, strict=True):
            target.put(message)
        return [source.get(timeout=60) for source in self.receives]


class Broken:
    """Ranks that cannot reach each other."""

    def all_to_all(self, messages: list[bytes]) -> list[bytes]:
        raise ConnectionError("no route to the other ranks")


def of_rank(rank: int, exchange: Any = None, size: int = SIZE) -> dict[str, Any]:
    return {
        "batch_size": 2,
        "ranks": fdconvert.Ranks(rank, size, locality=True, exchange=exchange),
        "cache": 1 << 24,
        "transform": CROPS,
    }


def group_of(rank: int, meeting: Path) -> Any:
    """A group of torch for the loader, next to that of the training."""
    from torch import distributed

    name = f"file://{meeting}"
    distributed.init_process_group("gloo", init_method=name, rank=rank, world_size=SIZE)
    return distributed.new_group(backend="gloo", timeout=timedelta(seconds=60))


def counts(loader: fdconvert.Loader) -> dict[str, float]:
    """What was counted since the loader was made."""
    return {name: it for name, it in loader.stats().items() if isinstance(it, (int, float))}


def since(before: dict[str, float], now: dict[str, float]) -> dict[str, float]:
    return {name: it - before.get(name, 0) for name, it in now.items()}


def train(path: Path, rank: int, how: Any, gates: Any, results: Any) -> None:
    """Some epochs on one rank: rows, reads and what else was counted, of each."""
    exchange = group_of(rank, how) if isinstance(how, Path) else Queues(rank, how)
    if isinstance(how, Path):
        with pytest.raises(fdconvert.UsageError, match=f"rank {rank} of {SIZE}"):
            small(path, **of_rank((rank + 1) % SIZE, exchange))
    loader = small(path, **of_rank(rank, exchange))
    epochs: list[tuple[list[Row], dict[str, float]]] = []
    counted: dict[str, float] = {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for epoch in range(EPOCHS):
            if gates[1] is not None and epoch == 1:
                if rank == SIZE - 1:
                    next(iter(loader))
                    os.kill(os.getpid(), signal.SIGKILL)
                assert gates[1].wait(timeout=120)
            found = rows(loader)
            # A rank also reads for others, before its own first epoch and between two.
            now = counts(loader)
            epochs.append((found, since(counted, now)))
            counted = now
    # Ranks end together, as with the last step of a training they do.
    gates[0].wait(timeout=120)
    for name, rest in since(counted, counts(loader)).items():
        epochs[-1][1][name] += rest
    loader.close()
    results.put((rank, epochs, [str(it.message) for it in said]))


def run(path: Path, how: Any, *, dies: bool = False) -> dict[int, Any]:
    """Train on all ranks at once; return what each of them that lived has found."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    if how is None:
        how = [[context.Queue() for _ in range(SIZE)] for _ in range(SIZE)]
    n_left = SIZE - 1 if dies else SIZE
    gates = context.Barrier(n_left), context.Event() if dies else None
    processes = [
        context.Process(target=train, args=(path, rank, how, gates, results))
        for rank in range(SIZE)
    ]
    for process in processes:
        process.start()
    found: dict[int, Any] = {}
    try:
        if gates[1] is not None:
            processes[-1].join(timeout=120)
            gates[1].set()
        for _ in range(n_left):
            rank, epochs, said = results.get(timeout=150)
            found[rank] = [epochs, said]
        for process in processes:
            process.join(timeout=60)
        codes = [process.exitcode for process in processes]
        assert codes == [0, 0, -signal.SIGKILL if dies else 0]
    except queue.Empty:
        pytest.fail(f"no result; exit codes {[process.exitcode for process in processes]}")
    finally:
        for process in processes:
            process.kill()
    return found


def plain(path: Path, rank: int) -> list[list[Row]]:
    """The same epochs of a rank that reads what it does not own."""
    loader = small(path, **of_rank(rank))
    return [rows(loader) for _ in range(EPOCHS)]


def check_that_all_is_exchanged(path: Path, found: dict[int, Any]) -> None:
    moved = 0
    for epoch in range(EPOCHS):
        of_ranks = [found[rank][0][epoch] for rank in range(SIZE)]
        assert sorted(row[0] for it, _ in of_ranks for row in it) == list(range(N_SAMPLES))
        stats = [stats for _, stats in of_ranks]
        assert sum(it["not_exchanged"] for it in stats) == 0
        assert all(it["exchanged"] == it["moved"] for it in stats)
        assert sum(it["exchanged_bytes"] for it in stats) >= sum(it["moved"] for it in stats)
        moved += sum(it["moved"] for it in stats)
    assert moved > 0
    reads = sum(stats["reads"] for it, _ in found.values() for _, stats in it)
    assert reads == N_SAMPLES
    for rank, (epochs, said) in found.items():
        assert [it for it, _ in epochs] == plain(path, rank)
        assert said == []


def test_ranks_exchange_over_anything_with_the_method(beton: Path) -> None:
    check_that_all_is_exchanged(beton, run(beton, None))


class TestTorch:
    """Groups of torch.distributed."""

    @pytest.fixture(autouse=True)
    def distributed(self) -> Any:
        reason = "torch is not installed"
        return pytest.importorskip("torch.distributed", reason=reason)

    def test_ranks_exchange_over_gloo(self, beton: Path, tmp_path: Path) -> None:
        check_that_all_is_exchanged(beton, run(beton, tmp_path / "meeting"))

    def test_a_killed_rank_costs_reads(self, beton: Path, tmp_path: Path) -> None:
        found = run(beton, tmp_path / "meeting", dies=True)
        missed = 0
        for rank, (epochs, said) in found.items():
            assert [it for it, _ in epochs] == plain(beton, rank)
            not_exchanged = sum(stats["not_exchanged"] for _, stats in epochs)
            assert len(said) == (not_exchanged > 0), said
            assert all("read from storage" in it for it in said)
            missed += not_exchanged
        assert missed > 0


def test_a_failure_is_told_once_and_costs_reads(beton: Path) -> None:
    loader = small(beton, **of_rank(0, Broken()))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert [rows(loader) for _ in range(EPOCHS)] == plain(beton, 0)
    assert [it.filename for it in said] == [rows.__code__.co_filename]
    assert "no route to the other ranks" in str(said[0].message)
    stats = loader.stats()
    assert stats["exchanged"] == 0 < stats["not_exchanged"] == stats["moved"]
    # What is sent elsewhere reads.
    again, other = pickle.loads(pickle.dumps(loader)), small(beton, **of_rank(0))
    other.set_epoch(EPOCHS)
    assert rows(again) == rows(other)
    assert again.stats()["moved"] > again.stats()["not_exchanged"] == 0


def test_a_forked_process_reads_for_itself(beton: Path) -> None:
    """Of two ranks in one process: the thread that exchanges stays where it was."""
    queues: list[list[Any]] = [[queue.Queue() for _ in range(2)] for _ in range(2)]
    exchanges = [Queues(rank, queues) for rank in range(2)]

    def make(rank: int, exchange: Any = None) -> fdconvert.Loader:
        return small(beton, **of_rank(rank, exchange, size=2))

    expected = rows(make(0))
    loaders = [make(rank, exchange) for rank, exchange in enumerate(exchanges)]
    batches = [loader.batches() for loader in loaders]
    first = rows_of(next(batches[0]))
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(60)
            rest = [row for batch in batches[0] for row in rows_of(batch)]
            loaders[0].close()
            status = int(first + rest != expected)
        finally:
            os._exit(status)
    rest = [row for batch in batches[0] for row in rows_of(batch)]
    assert first + rest == expected
    assert os.waitpid(pid, 0)[1] == 0
    assert sum(len(batch) for batch in batches[1]) == 6
    assert [loader.stats()["not_exchanged"] for loader in loaders] == [0, 0]
    for loader in loaders:
        loader.close()


def test_what_is_no_exchange_is_refused(beton: Path) -> None:
    with pytest.raises(fdconvert.UsageError, match=r"Ranks.exchange: int .*all_to_all"):
        small(beton, **of_rank(0, 3))
    alone = fdconvert.Ranks(0, 2, exchange=Broken())
    with pytest.raises(fdconvert.UsageError, match="Ranks.exchange: .*locality"):
        small(beton, cache=1 << 24, ranks=alone)


def test_torch_is_not_imported_for_it(beton: Path) -> None:
    script = f"""
        import sys
        import fdconvert

        class Exchange:
            def all_to_all(self, messages):
                return messages

        ranks = fdconvert.Ranks(world_size=1, locality=True, exchange=Exchange())
        loader = fdconvert.Loader({str(beton)!r}, 2, cache=1 << 24, ranks=ranks)
        assert sum(len(labels) for _, labels in loader) == 12
        assert "torch" not in sys.modules
    """
    subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(script)], check=True)
