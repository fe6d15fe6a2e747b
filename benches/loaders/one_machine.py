#!/usr/bin/env python3
"""What ranks of one machine read when they share a cache, and what a killed rank costs.

    one_machine.py DATASET --ranks 8 --batch 64 --epochs 4

Each rank is a process; one folder is the cache of all, and larger than the dataset. Every global batch
is compared with that of one loader without a cache: the sum of the hashes of its rows (number, label,
pixels). Then the same with a rank that is killed (SIGKILL) in the middle of the second epoch: the job
ends, and starts again from its last saved state, as `torchrun` does it. Saved states are 10 steps
apart. Prints a table of each; fails where a batch differs, or where more was read than once.
"""

import argparse
import os
import signal
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import fdconvert
import torch
from torch import distributed, multiprocessing

from exchange import MODULUS, options, step_hashes

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("data", help="a packed dataset")
parser.add_argument("--ranks", type=int, default=8)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--size", type=int, default=32)

STEPS_BETWEEN_STATES = 10


def loader_of(args, rank, folder, cache_bytes):
    return fdconvert.Loader(
        args.data,
        args.batch,
        ranks=fdconvert.Ranks(rank, args.ranks, locality=True),
        cache=fdconvert.Cache(cache_bytes, folder, ranks_per_cache=args.ranks),
        **options(args),
    )


def rank_of(rank, args, run, queue):
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{run['meeting']}",
        rank=rank,
        world_size=args.ranks,
        timeout=timedelta(seconds=120),
    )
    loader = loader_of(args, rank, run["folder"], run["cache_bytes"])
    step, state = run["from"]
    if state is not None:
        loader.load_state_dict(state)
    while step < run["n_steps"]:
        loader.reset_stats()
        for row_sum in step_hashes(loader):
            total = torch.tensor([row_sum])
            distributed.all_reduce(total)
            if rank == 0:
                queue.put(("step", step, int(total) % MODULUS))
            step += 1
            if rank == 0 and step % STEPS_BETWEEN_STATES == 0:
                queue.put(("state", step, loader.state_dict()))
            if step == run["kill_at"] and rank == args.ranks // 2:
                os.kill(os.getpid(), signal.SIGKILL)
        stats = loader.stats()
        queue.put(("epoch", (step - 1) // run["per_epoch"], (stats["reads"], stats["hits"])))
    distributed.barrier()
    loader.close()
    distributed.destroy_process_group()


def job(args, run):
    """Runs all ranks until they end or one is killed: hashes by step, sums by epoch, the last state."""
    queue = multiprocessing.get_context("spawn").SimpleQueue()
    context = multiprocessing.spawn(rank_of, (args, run, queue), nprocs=args.ranks, join=False)
    hashes, epochs, last, killed = {}, {}, (0, None), False

    def take():
        nonlocal last
        while not queue.empty():
            kind, number, what = queue.get()
            if kind == "step":
                hashes[number] = what
            elif kind == "state":
                last = (number, what)
            else:
                of_all = epochs.get(number, (0, 0))
                epochs[number] = tuple(a + b for a, b in zip(of_all, what, strict=True))

    while True:
        take()
        try:
            # One that was killed has the others ended, too.
            if context.join(timeout=0.2):
                break
        except multiprocessing.ProcessExitedException as error:
            assert error.signal_name == "SIGKILL" and run["kill_at"] is not None, error
            killed = True
            break
    take()
    return hashes, epochs, last, killed


def table(title, epochs, seconds):
    print(f"\n{title} ({seconds:.0f} s)\n\n| epoch | read | from the cache |\n|---|---|---|")
    for epoch, (reads, hits) in sorted(epochs.items()):
        print(f"| {epoch + 1} | {reads} | {hits} |")


def main():
    args = parser.parse_args()
    dataset = fdconvert.Dataset(args.data)
    n_bytes = sum(len(dataset.get(number)["image"]["bytes"]) for number in range(len(dataset)))
    plain = fdconvert.Loader(args.data, args.batch * args.ranks, **options(args) | {"threads": 0})
    epochs = [list(step_hashes(plain)) for _ in range(args.epochs)]
    due = dict(enumerate(row_sum for epoch in epochs for row_sum in epoch))
    per_epoch = len(epochs[0])
    print(f"{len(dataset)} samples, {n_bytes / 2**20:.1f} MiB of images, {per_epoch} steps an epoch")

    def run_in(folder, name, start, kill_at):
        return {
            "meeting": str(Path(folder) / name),
            "folder": str(Path(folder) / "cache"),
            "cache_bytes": 2 * n_bytes,
            "from": start,
            "kill_at": kill_at,
            "n_steps": len(due),
            "per_epoch": per_epoch,
        }

    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        hashes, sums, _, _ = job(args, run_in(folder, "whole", (0, None), None))
        assert hashes == due, "other batches than in plain training"
        assert sums[0][0] == len(dataset), f"read {sums[0][0]} times in the first epoch"
        assert all(reads == 0 for epoch, (reads, _) in sums.items() if epoch > 0), sums
        table("One folder for all ranks", sums, time.monotonic() - began)

    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        kill_at = per_epoch + per_epoch // 2 + 3
        before, _, last, killed = job(args, run_in(folder, "first", (0, None), kill_at))
        assert killed and last[0] > per_epoch, last
        after, sums, _, killed = job(args, run_in(folder, "second", last, None))
        assert not killed
        assert min(after) == last[0] and before.items() <= due.items(), "another place or batch"
        assert before | after == due, "other batches than in plain training"
        title = f"Rank {args.ranks // 2} killed after step {kill_at}, resumed at step {last[0]}"
        table(title, sums, time.monotonic() - began)
    print(f"\nAll {len(due)} global batches are those of plain training, before and after the kill.")


if __name__ == "__main__":
    main()
