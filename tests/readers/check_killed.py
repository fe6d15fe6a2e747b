"""Packs samples of three libraries into four formats, kills the runs, and resumes them.

usage: python check_killed.py WORK [--samples 20000] [--kills 3] [--seed 1]

Arrays as CIFAR-10 has them (32 x 32, ten classes, stored as PNG, in betons as JPEG), a torch dataset,
and a dataset of Hugging Face's library whose images are JPEGs. Each is packed whole once, and then by
runs that get SIGKILL at random moments, resumed until one ends. Fails where the files of both differ.
Parquet files are made by single runs that begin again; the others resume what is done.

Needs fdconvert, numpy, Pillow, torch and datasets.
"""

import argparse
import hashlib
import io
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("work", type=Path)
parser.add_argument("--samples", type=int, default=20_000)
parser.add_argument("--kills", type=int, default=3)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
arguments = parser.parse_args()

FORMATS = {
    "beton": {"page_size": "2MiB"},
    "wds": {"shard_size": "2MiB"},
    "mds": {"shard_size": "2MiB"},
    "parquet": {},
}
SOURCES = {"arrays": {"encode": "png"}, "torch": {"encode": "png"}, "datasets": {}}


def pictures(n):
    """Blocks of colours, so that PNG and JPEG have something to do, and labels."""
    rng = np.random.default_rng(7)
    blocks = rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)
    return blocks.repeat(4, axis=1).repeat(4, axis=2), rng.integers(0, 10, n)


def source(kind):
    images, labels = pictures(arguments.samples)
    if kind == "arrays":
        return {"image": images, "label": labels}
    if kind == "torch":
        import torch

        class Pairs(torch.utils.data.Dataset):
            classes = [f"class {number}" for number in range(10)]

            def __len__(self):
                return len(images)

            def __getitem__(self, index):
                return torch.from_numpy(images[index]), int(labels[index])

        return Pairs()
    import datasets
    from PIL import Image

    def jpeg(image):
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=90)
        return {"bytes": file.getvalue(), "path": None}

    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(num_classes=10)}
    )
    rows = {"image": [jpeg(image) for image in images], "label": labels.tolist()}
    return datasets.Dataset.from_dict(rows, features=features)


def pack(kind, format, out):
    import fdconvert

    samples = source(kind)
    print("begun", flush=True)
    options = FORMATS[format] | SOURCES[kind]
    if format == "beton" and options.get("encode") == "png":
        options["encode"] = "jpeg"
    report = fdconvert.pack(samples, out, format=format, **options)
    print(json.dumps(report["resumed"]), flush=True)


def start(kind, format, out):
    command = [sys.executable, __file__, str(arguments.work), "--samples", str(arguments.samples)]
    command += ["--run", kind, format, str(out)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "begun\n", f"{kind} to {format} did not begin"
    return run


def hashes(out):
    return {
        str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(out.rglob("*"))
        if file.is_file()
    }


def main():
    arguments.work.mkdir(parents=True)
    chance = random.Random(arguments.seed)
    for kind in SOURCES:
        for format in FORMATS:
            name = "set" if format in ("wds", "mds") else f"set.{format}"
            whole, killed = (arguments.work / kind / which / format for which in ("whole", "killed"))
            for folder in (whole, killed):
                folder.mkdir(parents=True)
            run, began = start(kind, format, whole / name), time.monotonic()
            assert run.wait() == 0, f"{kind} to {format}: exit {run.returncode}"
            seconds = time.monotonic() - began
            n_killed, resumed, most = 0, 0, seconds
            while True:
                run = start(kind, format, killed / name)
                if n_killed < arguments.kills:
                    time.sleep(chance.uniform(0.3, 0.9) * most)
                    run.send_signal(signal.SIGKILL)
                said, _ = run.communicate()
                if run.returncode == 0 and n_killed == 0:
                    # Faster than the first one: once more, with less time.
                    shutil.rmtree(killed)
                    killed.mkdir()
                    most *= 0.7
                    continue
                if run.returncode == 0:
                    resumed = int(said)
                    break
                assert run.returncode == -signal.SIGKILL, f"{kind} to {format}: {run.returncode}"
                n_killed += 1
                most *= 0.7
                if hashes(killed) == hashes(whole):
                    # Killed behind its last step.
                    break
            # What a killed run left beside the output would be a file more.
            assert hashes(whole) == hashes(killed), f"{kind} to {format}: other files or bytes"
            print(
                f"{kind} to {format}: {seconds:.1f} s in one run; {n_killed} kills, "
                f"{resumed} of {arguments.samples} resumed by the last run, equal files",
                flush=True,
            )


if arguments.run:
    kind, format, out = arguments.run
    pack(kind, format, Path(out))
else:
    main()
