#!/usr/bin/env python3
"""What a rank of DLIO takes until its first batch, by time and memory, of datasets of any size.

    start.py DLIO_CHECKOUT SYNTHETIC.beton...

For each dataset two processes are measured: one opens it with `fdconvert.dlio.StoredImages`, one
makes the lists that DLIO's reference loader needs for as many files (their names are made up; listing
and sorting a folder come on top). `cargo bench --bench open_get -- SAMPLES FILE` writes such datasets.
Memory is what the process has more than before (`RssAnon`, and with mapped pages `VmRSS`). The first
sample of a beton compares its tables with their checksum, which reads them, in each process.
"""

import argparse
import json
import os
import subprocess
import sys
import time


def memory_mib():
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return [int(lines[name].split()[0]) / 1024 for name in ("RssAnon", "VmRSS")]


def measured(opened, first):
    """What `opened` and then `first` take; what they return is kept until memory was looked at."""
    before, began = memory_mib(), time.perf_counter()
    kept = opened()
    at_open = time.perf_counter() - began
    batch = first(kept)
    at_batch = time.perf_counter() - began
    more = [after - at for after, at in zip(memory_mib(), before)]
    del batch
    print(json.dumps({"open_s": at_open, "batch_s": at_batch, "own_mib": more[0], "mapped_mib": more[1]}))


def configured(dataset, n_samples):
    from dlio_benchmark.utils.config import ConfigArguments
    from dlio_benchmark.utils.utility import DLIOMPI

    DLIOMPI.get_instance().initialize()
    args = ConfigArguments.get_instance()
    args.configure_dlio_logging = lambda is_child=False: None
    args.batch_size, args.total_samples_train = 24, n_samples
    args.data_folder = os.path.dirname(dataset)
    return args


def ours(dataset, n_samples):
    os.environ["FDCONVERT_DLIO_TRAIN"] = dataset
    args = configured(dataset, n_samples)
    from dlio_benchmark.common.enumerations import DatasetType, FormatType, Shuffle

    import fdconvert.dlio

    args.sample_shuffle = Shuffle.SEED

    def opened():
        loader = fdconvert.dlio.StoredImages(FormatType.JPEG, DatasetType.TRAIN, 1)
        loader.read()
        return loader

    def first(loader):
        batches = loader.next()
        return batches, next(batches)

    measured(opened, first)


def reference(dataset, n_samples):
    args = configured(dataset, n_samples)
    from dlio_benchmark.common.enumerations import DataLoaderSampler, DataLoaderType, FrameworkType, Shuffle

    args.framework, args.data_loader = FrameworkType.PYTORCH, DataLoaderType.PYTORCH
    args.sample_shuffle = args.file_shuffle = Shuffle.SEED
    args.data_loader_sampler = DataLoaderSampler.INDEX

    def lists():
        files = [f"/data/retinanet/train/img_{number:08d}_of_{n_samples}.jpeg" for number in range(n_samples)]
        args.derive_configurations(files, [])
        args.reconfigure(1)
        return files

    measured(lists, lambda files: None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dlio")
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--ours-only", action="store_true", help="for sizes at which the lists do not fit")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    import fdconvert

    print("| samples | | open, s | first batch, s | own memory, MiB | with mapped pages, MiB |")
    print("|---|---|---|---|---|---|")
    for dataset in args.datasets:
        n_samples = len(fdconvert.Dataset(dataset))
        for name in ["ours"] if args.ours_only else ["ours", "reference"]:
            runs = [once(args.dlio, name, dataset, n_samples) for _ in range(args.rounds)]
            run = sorted(runs, key=lambda run: run["batch_s"])[len(runs) // 2]
            print(
                f"| {n_samples} | {name} | {run['open_s']:.4f} | {run['batch_s']:.3f} | {run['own_mib']:.1f} "
                f"| {run['mapped_mib']:.1f} |",
                flush=True,
            )


def once(dlio, name, dataset, n_samples):
    command = [sys.executable, __file__, "--one", name, os.path.abspath(dataset), str(n_samples)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.path.abspath(dlio)}
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"{name}: no result\n{done.stdout}\n{done.stderr[-2000:]}")
    return json.loads(lines[-1])


if sys.argv[1:2] == ["--one"]:
    {"ours": ours, "reference": reference}[sys.argv[2]](sys.argv[3], int(sys.argv[4]))
else:
    main()
