"""Loaders of several ranks: who gets which rows, and who keeps which samples."""

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

import fdconvert
from loading import rows, rows_of, small


def test_ranks_share_the_dataset(beton: Path) -> None:
    ranks = [small(beton, 2, rank=rank, world_size=2) for rank in range(2)]
    assert [len(rank) for rank in ranks] == [3, 3]
    shares = [[row[0] for row in rows(rank)] for rank in ranks]
    assert sorted(shares[0] + shares[1]) == list(range(12))
    assert ranks[0].state_dict() == ranks[1].state_dict()


@pytest.mark.parametrize("size", [1, 2, 4])
def test_rows_go_to_the_ranks_that_keep_their_samples(beton: Path, size: int) -> None:
    plain = small(beton, 4, crop="rrc")
    ranks = [
        small(
            beton, 4 // size, crop="rrc", rank=rank, world_size=size, cache_bytes=1 << 24, locality=True
        )
        for rank in range(size)
    ]
    for _ in range(3):
        steps = zip(plain.batches(), *(rank.batches() for rank in ranks), strict=True)
        for whole, *parts in steps:
            dealt = [row for part in parts for row in rows_of(part)]
            assert sorted(dealt) == sorted(rows_of(whole))
            assert all(part.state == whole.state for part in parts)
    stats = [rank.stats() for rank in ranks]
    # Once for its owner, and for each row that moved.
    assert sum(it["reads"] for it in stats) <= 12 + sum(it["moved"] for it in stats)
    assert sum(it["hits"] + it["reads"] for it in stats) == 36
    with pytest.raises(fdconvert.UsageError, match="cache_bytes"):
        small(beton, locality=True)
    with pytest.raises(fdconvert.UsageError, match="ranks_per_cache"):
        small(beton, cache_bytes=1 << 20, ranks_per_cache=0)


def rank_of_a_machine(path: Path, options: dict[str, Any], ready: Any, results: Any) -> None:
    """Three epochs on one rank: the samples and the reads of each."""
    loader = small(path, 2, **options)
    epochs = []
    for _ in range(3):
        ready.wait(timeout=60)
        loader.reset_stats()
        samples = [row[0] for row in rows(loader)]
        epochs.append((samples, loader.stats()["reads"]))
    results.put(epochs)


@pytest.mark.parametrize("locality", [False, True])
def test_processes_of_a_machine_read_every_sample_once(
    beton: Path, tmp_path: Path, locality: bool
) -> None:
    size = 3
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(size), context.Queue()
    shared = {"world_size": size, "cache_bytes": 1 << 24, "cache_folder": tmp_path / "cache"}
    if locality:
        shared |= {"locality": True, "ranks_per_cache": size}
    processes = [
        context.Process(
            target=rank_of_a_machine, args=(beton, shared | {"rank": rank}, ready, results)
        )
        for rank in range(size)
    ]
    for process in processes:
        process.start()
    of_ranks = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(timeout=60)
        assert process.exitcode == 0
    for number, epoch in enumerate(zip(*of_ranks, strict=True)):
        assert sorted(sample for samples, _ in epoch for sample in samples) == list(range(12))
        assert sum(reads for _, reads in epoch) == (12 if number == 0 else 0)
