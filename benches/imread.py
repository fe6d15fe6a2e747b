#!/usr/bin/env python3
"""JPEG decoders by the measurements of imread_benchmark: one thread, and torch's DataLoader.

    python benches/imread.py FOLDER --rounds 5 [--workers 0 1 2 4] [--json FILE]

Needs imread_benchmark (https://github.com/ternaus/imread_benchmark) installed beside fdconvert, and
the decoders. fdconvert is found by its entry point, torchcodec is added here, the others are those of
the benchmark. Each decoder of each round is a process of its own; the decoders of a round stand next
to each other in time. What is measured is `run_decode_memory_measurement` and
`run_loader_supply_measurement` of the benchmark, with batches of 32 and what is in memory; images
that are not RGB are left out, as some decoders give them one channel. Prints Markdown.
"""

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

DECODERS = ["fdconvert", "simplejpeg", "torchcodec", "torchvision", "opencv", "pillow"]
NO_DIGEST = "0" * 64


def registry():
    from imread_benchmark.decoders import REGISTRY, BaseDecoder

    class TorchcodecDecoder(BaseDecoder):
        name = package_name = "torchcodec"

        def decode(self, data):
            import numpy
            from torchcodec.decoders import decode_image

            return numpy.ascontiguousarray(decode_image(data, mode="RGB").permute(1, 2, 0).numpy())

    REGISTRY["torchcodec"] = TorchcodecDecoder
    return REGISTRY


def items(folder):
    from imread_benchmark.datasets.package import ResidentItem
    from PIL import Image

    found = []
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix.lower() not in (".jpg", ".jpeg"):
            continue
        with Image.open(path) as image:
            if image.mode != "RGB":
                continue
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        found.append(ResidentItem(str(path), path.name, digest, len(data), data))
    return found


def configuration(decoder, workers, repeat):
    from imread_benchmark.plans.expand import RunConfiguration

    processes = workers is not None and workers > 0
    return RunConfiguration(
        protocol_id="decode-memory" if workers is None else "loader-supply",
        decoder_id=decoder,
        package_id=NO_DIGEST,
        manifest_id=NO_DIGEST,
        selection_id=NO_DIGEST,
        requested_threads=None,
        num_workers=workers,
        batch_size=None if workers is None else 32,
        prefetch_factor=2 if processes else None,
        persistent_workers=processes,
        multiprocessing_start_method="fork" if processes else None,
        logical_repeat_factor=repeat,
        warmup_passes=1,
        timed_passes_per_run=1,
        minimum_timed_seconds=0.1,
        output_contract="normalized-rgb",
        support_policy="common",
    )


def one(decoder, folder, all_workers, repeat):
    """All measurements of a decoder, in this process."""
    import torch

    from imread_benchmark.execution.loader_measurement import run_loader_supply_measurement
    from imread_benchmark.execution.measurement import run_decode_memory_measurement

    decoders, images = registry(), items(folder)
    torch.set_num_threads(1)
    if decoder == "opencv":
        import cv2

        cv2.setNumThreads(1)
    for workers in all_workers:
        config = configuration(decoder, workers, repeat)
        if workers is None:
            adapter = decoders[decoder]()
            # The first image imports the library.
            adapter.decode(images[0].data)
            before = cpu_seconds()
            result = run_decode_memory_measurement(adapter, images, config, effective_threads=1)
            # Validation is one pass without repeats.
            n_decoded = len(images) * (2 * repeat + 1)
            cpu_ms = (cpu_seconds() - before) / n_decoded * 1e3
        else:
            result, cpu_ms = run_loader_supply_measurement(images, config), None
        sample = result.samples[0]
        rate = sample.items_processed / sample.elapsed_seconds
        print(json.dumps({"decoder": decoder, "workers": workers, "images_per_s": rate, "cpu_ms": cpu_ms}))


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2, 4])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=DECODERS)
    parser.add_argument("--json", type=Path, help="keep every run; those that are there count as well")
    args = parser.parse_args()
    runs = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    number = 1 + max((run["round"] for run in runs), default=-1)
    for number in range(number, number + args.rounds):
        for decoder in args.only:
            command = [sys.executable, __file__, "--one", decoder, args.folder, str(args.repeat)]
            command += [str(workers) for workers in args.workers]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            if done.returncode:
                print(f"{decoder}: left out: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            runs += [{"round": number, **line} for line in lines]
            print(f"round {number}, {decoder}", file=sys.stderr, flush=True)
        if args.json:
            args.json.write_text(json.dumps(runs, indent=1) + "\n")
    table(runs, args.only)


def table(runs, decoders):
    columns = sorted({run["workers"] for run in runs if run["workers"] is not None})
    head = ["decoder", "one thread, images/s", "range", "CPU-ms an image", "CPU by fdconvert's"]
    head += [f"{workers} workers" for workers in columns] + ["peak"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for decoder in decoders:
        single = {run["round"]: run for run in runs if (run["decoder"], run["workers"]) == (decoder, None)}
        own = {run["round"]: run for run in runs if (run["decoder"], run["workers"]) == ("fdconvert", None)}
        if not single:
            continue
        rates = [run["images_per_s"] for run in single.values()]
        cells = [decoder, f"{statistics.median(rates):.0f}", f"{min(rates):.0f}-{max(rates):.0f}"]
        cells.append(f"{statistics.median(run['cpu_ms'] for run in single.values()):.2f}")
        shared = [single[number]["cpu_ms"] / own[number]["cpu_ms"] for number in single if number in own]
        cells.append(f"{statistics.median(shared):.2f}" if shared else "")
        supplied = [
            statistics.median(
                run["images_per_s"] for run in runs if (run["decoder"], run["workers"]) == (decoder, workers)
            )
            for workers in columns
        ]
        cells += [f"{rate:.0f}" for rate in supplied] + [f"{max(supplied):.0f}" if supplied else ""]
        print(f"| {' | '.join(cells)} |")


if sys.argv[1:2] == ["--one"]:
    one(sys.argv[2], sys.argv[3], [None, *map(int, sys.argv[5:])], int(sys.argv[4]))
else:
    main()
