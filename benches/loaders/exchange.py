#!/usr/bin/env python3
"""What ranks read from storage with caches, with and without an exchange over gloo.

    exchange.py DATASET --ranks 8 --batch 64 --epochs 4

Each rank is a process. It takes its epochs once for each way, in step with the others, as a training
is; the caches of all ranks together hold 1.1 times the dataset. With locality every global batch is
compared with that of one loader without a cache: the sum of the hashes of its rows (number, label, pixels).
Prints the tables of docs/benchmarks.md.
"""

import argparse
import hashlib
import math
import os
import tempfile
import time
from datetime import timedelta

import fdconvert
import torch
from fdconvert import transforms as T
from torch import distributed, multiprocessing

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("data", help="a packed dataset")
parser.add_argument("--ranks", type=int, default=8)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--size", type=int, default=32)

# So small that the sum of all ranks is an integer of 64 bits.
MODULUS = 2**56
COUNTS = ["reads", "hits", "moved", "exchanged", "exchanged_bytes", "not_exchanged"]
WAYS = {"caches of their own": {}, "locality": {"locality": True}, "exchange": {"locality": True}}


def row_hash(sample, label, image):
    row = hashlib.blake2b(image.tobytes(), digest_size=8)
    row.update(f"{sample} {label}".encode())
    return int.from_bytes(row.digest(), "little")


def step_hashes(loader):
    """For each batch of an epoch the sum of the hashes of its rows, modulo 2 ** 56."""
    for batch in loader.batches():
        rows = zip(batch.samples, batch.labels, batch.images, strict=True)
        yield sum(row_hash(*row) for row in rows) % MODULUS


def options(args):
    crops = [T.RandomResizedCrop(args.size), T.RandomHorizontalFlip()]
    return {"transform": crops, "seed": 7, "threads": 1, "output": "numpy"}


def rank_of(rank, args, cache_bytes, meeting, queue):
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=args.ranks
    )
    for way, more in WAYS.items():
        if way == "exchange":
            more = more | {"exchange": distributed.new_group(timeout=timedelta(seconds=120))}
        loader = fdconvert.Loader(
            args.data,
            args.batch,
            ranks=fdconvert.Ranks(rank, args.ranks, **more),
            cache=cache_bytes // args.ranks,
            **options(args),
        )
        for epoch in range(args.epochs):
            loader.reset_stats()
            began, hashes = time.monotonic(), []
            for step in step_hashes(loader):
                # In the place of the gradients: ranks are in step.
                total = torch.tensor([step])
                distributed.all_reduce(total)
                hashes.append(int(total) % MODULUS)
            seconds = time.monotonic() - began
            stats = loader.stats()
            counts = {name: stats[name] for name in COUNTS}
            queue.put((way, epoch, rank, hashes, counts, seconds, stats["stalled_s"]))
        distributed.barrier()
        loader.close()
    distributed.destroy_process_group()


def main():
    args = parser.parse_args()
    dataset = fdconvert.Dataset(args.data)
    n_bytes = sum(len(dataset.get(number)["image"]["bytes"]) for number in range(len(dataset)))
    queue = multiprocessing.get_context("spawn").Queue()
    with tempfile.TemporaryDirectory() as folder:
        arguments = (args, n_bytes * 11 // 10, os.path.join(folder, "meeting"), queue)
        context = multiprocessing.spawn(rank_of, arguments, nprocs=args.ranks, join=False)
        n_results = len(WAYS) * args.epochs * args.ranks
        results = [queue.get() for _ in range(n_results)]
        context.join()
    plain = fdconvert.Loader(args.data, args.batch * args.ranks, **options(args) | {"threads": 0})
    due = [list(step_hashes(plain)) for _ in range(args.epochs)]
    n_moved = n_rows = 0
    print(f"{len(dataset)} samples, {n_bytes / 2**20:.1f} MiB of images, {len(due[0])} steps\n")
    print("| way | epoch | read | hits | moved | exchanged | MiB | not exchanged | s | waited s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for way in WAYS:
        for epoch in range(args.epochs):
            found = [result[2:] for result in results if result[:2] == (way, epoch)]
            # Caches that know nothing of each other are spread over the epoch, which is another order.
            for _, hashes, *_ in found if WAYS[way] else []:
                assert hashes == due[epoch], f"{way}, epoch {epoch}: other batches"
            sums = {name: sum(counts[name] for _, _, counts, *_ in found) for name in COUNTS}
            seconds = max(seconds for *_, seconds, _ in found)
            stalled = sum(stalled for *_, stalled in found) / len(found)
            cells = [sums[name] for name in ["reads", "hits", "moved", "exchanged"]]
            cells += [f"{sums['exchanged_bytes'] / 2**20:.1f}", sums["not_exchanged"]]
            print("|", " | ".join(map(str, [way, epoch + 1, *cells])), end="")
            print(f" | {seconds:.1f} | {stalled:.1f} |")
            if way != "caches of their own":
                n_moved, n_rows = n_moved + sums["moved"], n_rows + len(dataset)
    share = math.sqrt(1 - 1 / args.ranks) / math.sqrt(2 * math.pi * args.batch)
    print(f"\n{n_moved / n_rows:.2%} of the rows moved, {share:.2%} expected.")
    print(f"The {2 * sum(map(len, due))} global batches with locality are those of plain training.")


if __name__ == "__main__":
    main()
