"""Loaders of several ranks: who gets which rows, and who keeps which samples."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import pytest

import fdconvert
from loading import CROPS, rows, rows_of, small


def test_ranks_share_the_dataset(beton: Path) -> None:
    ranks = [small(beton, 2, ranks=fdconvert.Ranks(rank, 2)) for rank in range(2)]
    assert [len(rank) for rank in ranks] == [3, 3]
    shares = [[row[0] for row in rows(rank)] for rank in ranks]
    assert sorted(shares[0] + shares[1]) == list(range(12))
    assert ranks[0].state_dict() == ranks[1].state_dict()


@pytest.mark.parametrize("size", [1, 2, 4])
def test_rows_go_to_the_ranks_that_keep_their_samples(beton: Path, size: int) -> None:
    plain = small(beton, 4, transform=CROPS)
    ranks = [
        small(
            beton,
            4 // size,
            transform=CROPS,
            cache=1 << 24,
            ranks=fdconvert.Ranks(rank, size, locality=True),
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
    with pytest.raises(fdconvert.UsageError, match="Ranks.locality|Cache.bytes"):
        small(beton, ranks=fdconvert.Ranks(locality=True))
    with pytest.raises(fdconvert.UsageError, match="Cache.ranks_per_cache: 1 ranks are no"):
        small(beton, cache=fdconvert.Cache(1 << 20, ranks_per_cache=2))


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
    cache = fdconvert.Cache(1 << 24, tmp_path / "cache", ranks_per_cache=size if locality else 1)
    options = [
        {"cache": cache, "ranks": fdconvert.Ranks(rank, size, locality=locality)}
        for rank in range(size)
    ]
    processes = [
        context.Process(target=rank_of_a_machine, args=(beton, of_rank, ready, results))
        for of_rank in options
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


def in_environment(beton: Path, code: str = "", **variables: str) -> tuple[Any, list[str]]:
    """Rank, world size and samples of a loader in a process with those variables, and warnings."""
    script = f"""
        import json, sys, types, warnings
        import fdconvert
        options = {{}}
        {code}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            loader = fdconvert.Loader({str(beton)!r}, 2, **options)
            fdconvert.Loader({str(beton)!r}, 2, **options)
        samples = [int(it) for batch in loader.batches() for it in batch.samples]
        found = [loader.rank, loader.world_size, samples]
        json.dump([found, [f"{{it.filename}} {{it.message}}" for it in said]], sys.stdout)
    """
    command = [sys.executable, "-P", "-c", textwrap.dedent(script)]
    environment = {name: it for name, it in os.environ.items() if not name.startswith("SLURM_")}
    run = subprocess.run(command, env=environment | variables, capture_output=True, text=True, check=False)
    if run.returncode:
        return None, [run.stderr]
    found, said = json.loads(run.stdout)
    return found, said


def test_ranks_are_those_of_the_launcher(beton: Path) -> None:
    shares = []
    for rank in "01":
        (*ranks, samples), said = in_environment(beton, RANK=rank, WORLD_SIZE="2")
        assert ranks == [int(rank), 2]
        shares += samples
        # Once in a process, and about the line that makes the loader.
        assert len(said) == 1 and said[0].startswith("<string> fdconvert.Loader: rank"), said
    assert sorted(shares) == list(range(12))
    for mpi in ["OMPI_COMM_WORLD", "MV2_COMM_WORLD", "PMI"]:
        (*ranks, _), _ = in_environment(beton, **{f"{mpi}_RANK": "1", f"{mpi}_SIZE": "3"})
        assert ranks == [1, 3]
    for code, variables in [
        ("options = dict(ranks=fdconvert.Ranks(0, 1))", {"RANK": "1", "WORLD_SIZE": "2"}),
        ("options = dict(ranks=fdconvert.Ranks(world_size=1))", {"RANK": "1", "WORLD_SIZE": "2"}),
        ("", {"RANK": "0", "WORLD_SIZE": "1"}),
        ("", {"RANK": "0", "PMIX_RANK": "0", "LOCAL_RANK": "0"}),
        ("", {}),
    ]:
        found, said = in_environment(beton, code, **variables)
        assert (found[:2], len(found[2]), said) == ([0, 1], 12, []), (code, variables)


def test_ranks_that_cannot_be_are_refused(beton: Path) -> None:
    for rank in ["2", "-1", "x"]:
        found, (said,) = in_environment(beton, RANK=rank, WORLD_SIZE="2")
        assert found is None
        assert f"ranks: RANK={rank} and WORLD_SIZE=2 are not a rank and a size" in said


def test_a_group_that_is_initialised_tells_the_rank(beton: Path) -> None:
    code = """
        group = types.ModuleType("torch.distributed")
        group.is_available = group.is_initialized = lambda: True
        group.get_rank, group.get_world_size = lambda: 2, lambda: 4
        sys.modules["torch.distributed"] = group
    """
    (*ranks, samples), said = in_environment(beton, code, RANK="1", WORLD_SIZE="2")
    assert ranks == [2, 4] and len(samples) == 3
    assert "as torch.distributed says" in said[0]


@pytest.mark.parametrize(
    ("variables", "cure"),
    [
        ({"SLURM_PROCID": "1", "SLURM_NTASKS": "4"}, "ranks=fdconvert.Ranks(1, 4)"),
        ({"HOROVOD_RANK": "0", "HOROVOD_SIZE": "2"}, "ranks=fdconvert.Ranks(0, 2)"),
        ({"WORLD_SIZE": "2", "LOCAL_RANK": "1"}, "ranks=fdconvert.Ranks(..., 2)"),
        ({"RANK": "1"}, "ranks=fdconvert.Ranks(1, ...)"),
        ({"PMIX_RANK": "3"}, "ranks=fdconvert.Ranks(3, ...)"),
    ],
)
def test_variables_that_are_not_taken_are_told(
    beton: Path, variables: dict[str, str], cure: str
) -> None:
    (*ranks, samples), said = in_environment(beton, **variables)
    assert ranks == [0, 1] and len(samples) == 12
    assert f"Pass {cure} for a share" in said[0]


@pytest.mark.parametrize("pickled", [False, True])
def test_a_group_that_is_initialised_later_is_an_error(
    beton: Path, monkeypatch: pytest.MonkeyPatch, pickled: bool
) -> None:
    loader, given = small(beton), small(beton, ranks=fdconvert.Ranks(0, 1))
    group = types.ModuleType("torch.distributed")
    vars(group).update(is_available=lambda: True, is_initialized=lambda: True)
    vars(group).update(get_rank=lambda: 1, get_world_size=lambda: 2)
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    if pickled:
        loader, given = pickle.loads(pickle.dumps((loader, given)))
    with pytest.raises(fdconvert.UsageError, match=r"rank 0 of 1, before .* says 1 of 2; make the"):
        iter(loader)
    assert len(rows(given)) == 12
