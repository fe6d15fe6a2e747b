#!/usr/bin/env python3
"""DLIO's retinanet workload, unofficial: the reference loader and ours, by turns.

    run.py prepare IMAGES DATA --count 1920
    run.py compare DATA --dlio DLIO_CHECKOUT --rounds 3

`prepare` makes JPEGs of 322,957 bytes of a folder of images (needs Pillow) and packs them; `compare`
runs each loader with each number of ranks (simulated accelerators) on all cores of this machine, and
prints Markdown: utilisation (AU) and samples/s, the median of the rounds. `--json FILE` keeps every
run, with the CPU time of all ranks and their workers, start included; runs that are there already
count as well.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
BYTES = 322_957
BATCH = 24
OURS = {"reader.data_loader_sampler": "iterative"}
# By default with these numbers of accelerators: more of them starve.
LOADERS = {
    "reference, decoded by Pillow": ([1], {}),
    "reference, bytes only": ([1, 2, 3, 4], {"reader.reader_classname": "readers.StoredFiles"}),
    "fdconvert, bytes only": (
        [1, 2, 3, 4, 5, 6, 8],
        {**OURS, "reader.data_loader_classname": "fdconvert.dlio.StoredImages"},
    ),
    "fdconvert, decoded to 224": (
        [1, 2, 3],
        {**OURS, "reader.data_loader_classname": "fdconvert.dlio.DecodedImages"},
    ),
}


def prepare(args):
    import fdconvert

    train = args.data / "train"
    train.mkdir(parents=True)
    # DLIO lists both.
    (args.data / "valid").mkdir()
    sources = sorted(path for path in args.images.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    made = [exactly(path, BYTES) for path in sources[: args.distinct]]
    for number in range(args.count):
        (train / f"img_{number:08d}.jpeg").write_bytes(made[number % len(made)])
    fdconvert.pack(train, args.data / "train.beton")


def exactly(path, size):
    """The image at the quality and size that come near, filled up with comments."""
    import io

    from PIL import Image

    with Image.open(path) as image:
        image = image.convert("RGB")
        image = image.resize((1024, round(1024 * image.height / image.width)))
    for quality in range(98, 20, -1):
        file = io.BytesIO()
        image.save(file, "JPEG", quality=quality)
        content = file.getvalue()
        if len(content) <= size - 4:
            break
    missing, comments = size - len(content), b""
    while missing:
        # A comment has at least its marker and length; what is left for the last one is as much.
        part = missing if missing <= 65_537 else min(65_537, missing - 4)
        comments += b"\xff\xfe" + (part - 2).to_bytes(2, "big") + bytes(part - 4)
        missing -= part
    return content[:2] + comments + content[2:]


def compare(args):
    runs = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    for _ in range(args.rounds):
        for name, (most, options) in LOADERS.items():
            if args.only and not any(part in name for part in args.only):
                continue
            for ranks in args.ranks or most:
                runs.append(once(args, name, options, ranks))
                print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
                if args.json:
                    args.json.write_text(json.dumps(runs, indent=1) + "\n")
    print("| loader | threads | accelerators | AU % | range | samples/s |\n|---|---|---|---|---|---|")
    for key in dict.fromkeys((run["loader"], run["threads"], run["accelerators"]) for run in runs):
        of = [run for run in runs if (run["loader"], run["threads"], run["accelerators"]) == key]
        au = [run["au"] for run in of]
        rate = statistics.median(run["samples_per_s"] for run in of)
        print(
            f"| {key[0]} | {key[1]} | {key[2]} | {statistics.median(au):.1f} "
            f"| {min(au):.1f}-{max(au):.1f} | {rate:.0f} |"
        )


def once(args, name, options, ranks):
    n_files = sum(1 for _ in os.scandir(args.data / "train"))
    # Each rank has as many steps as with one rank there are files for, so that runs last alike.
    n_files = min(n_files, args.steps * BATCH * ranks)
    with tempfile.TemporaryDirectory() as output:
        settings = {
            "dataset.data_folder": args.data.absolute(),
            "dataset.num_files_train": n_files,
            "reader.read_threads": args.threads,
            "train.epochs": args.epochs,
            "output.folder": output,
            **options,
        }
        command = [str(Path(sys.executable).parent / "mpiexec"), "-n", str(ranks)]
        command += [sys.executable, "-m", "dlio_benchmark.main", "--config-dir", str(HERE)]
        command += ["workload=retinanet_unofficial", f"hydra.run.dir={output}"]
        command += [f"++workload.{key}={value}" for key, value in settings.items()]
        path = os.pathsep.join([str(args.dlio.absolute()), str(HERE.absolute())])
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        before, began = used(), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        wall, cpu = time.perf_counter() - began, used() - before
        summary = Path(output) / "summary.json"
        if done.returncode or not summary.exists():
            sys.exit(f"{name}: failed\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        metric = json.loads(summary.read_text())["metric"]
    n_samples = n_files // (BATCH * ranks) * BATCH * ranks * args.epochs
    return {
        "loader": name,
        "accelerators": ranks,
        "threads": args.threads,
        "au": metric["train_au_mean_percentage"],
        "samples_per_s": metric["train_throughput_mean_samples_per_second"],
        "cpu_ms_per_sample": cpu / n_samples * 1e3,
        "wall_s": wall,
    }


def used():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
commands = parser.add_subparsers(required=True)
command = commands.add_parser("prepare")
command.add_argument("images", type=Path)
command.add_argument("data", type=Path)
command.add_argument("--count", type=int, default=1920)
command.add_argument("--distinct", type=int, default=100)
command.set_defaults(run=prepare)
command = commands.add_parser("compare")
command.add_argument("data", type=Path)
command.add_argument("--dlio", type=Path, required=True)
command.add_argument("--ranks", type=int, nargs="+")
command.add_argument("--threads", type=int, default=1)
command.add_argument("--epochs", type=int, default=3)
command.add_argument("--steps", type=int, default=20)
command.add_argument("--rounds", type=int, default=3)
command.add_argument("--only", nargs="+")
command.add_argument("--json", type=Path)
command.set_defaults(run=compare)
args = parser.parse_args()
args.run(args)
