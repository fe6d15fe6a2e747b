"""Packs samples of three libraries into four formats, kills the runs, and resumes them.

usage: python check_killed.py WORK [--samples 20000] [--kills 3] [--seed 1]

Arrays as CIFAR-10 has them (32 x 32, ten classes, stored as PNG, in betons as JPEG), a torch dataset,
and a dataset of Hugging Face's library whose images are JPEGs. Each is packed, by `pack` and by a
`Writer`, whole once, and then by runs that get SIGKILL at random moments, resumed until one ends. Fails where the files of both differ.
Parquet files are made by single runs that begin again; the others resume what is done.

Needs fdconvert, numpy, Pillow, torch and datasets.
"""

import argparse
import hashlib
import io
import itertools
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
parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
arguments = parser.parse_args()

FORMATS = {
    "beton": {"page_size": "2MiB"},
    "wds": {"shard_size": "2MiB"},
    "mds": {"shard_size": "2MiB"},
    "parquet": {},
}
WAYS = ("pack", "Writer")
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


def one_by_one(samples):
    if isinstance(samples, dict):
        yield from zip(samples["image"], samples["label"])
    elif hasattr(samples, "features"):
        import datasets

        for rows in samples.cast_column("image", datasets.Image(decode=False)).iter(64):
            yield from zip(rows["image"], rows["label"])
    else:
        yield from map(samples.__getitem__, range(len(samples)))


def pack(kind, way, format, out):
    import fdconvert

    samples = source(kind)
    print("begun", flush=True)
    options = FORMATS[format] | SOURCES[kind]
    if format == "beton" and options.get("encode") == "png":
        options["encode"] = "jpeg"
    if way == "pack":
        report = fdconvert.pack(samples, out, format=format, **options)
    else:
        options |= {"schema": {"image": "image", "label": "int"}}
        with fdconvert.Writer(out, format=format, **options) as writer:
            for image, label in one_by_one(samples):
                writer.write({"image": image, "label": label})
            report = writer.close()
    print(json.dumps(report["resumed"]), flush=True)


def start(kind, way, format, out):
    command = [sys.executable, __file__, str(arguments.work), "--samples", str(arguments.samples)]
    command += ["--run", kind, way, format, str(out)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "begun\n", f"{kind} to {format} by {way} did not begin"
    return run


def hashes(out, notes=True):
    files = (file for file in sorted(out.rglob("*")) if file.is_file())
    files = (file for file in files if notes or ".fdconvert" not in file.parts)
    return {
        str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def main():
    arguments.work.mkdir(parents=True)
    chance = random.Random(arguments.seed)
    for kind, way, format in itertools.product(SOURCES, WAYS, FORMATS):
        check(kind, way, format, chance)


def check(kind, way, format, chance):
    what = f"{kind} to {format} by {way}"
    name = "set" if format in ("wds", "mds") else f"set.{format}"
    whole, killed = (arguments.work / kind / way / which / format for which in ("whole", "killed"))
    for folder in (whole, killed):
        folder.mkdir(parents=True)
    run, began = start(kind, way, format, whole / name), time.monotonic()
    # Not to the end of the process: libraries take longer for that than packing did.
    assert run.stdout.readline().endswith("\n"), f"{what}: no report"
    seconds = time.monotonic() - began
    assert run.wait() == 0, f"{what}: exit {run.returncode}"
    n_killed, most, notes = 0, seconds, True
    while True:
        run = start(kind, way, format, killed / name)
        if n_killed < arguments.kills:
            time.sleep(chance.uniform(0.2, 0.9) * most)
            run.send_signal(signal.SIGKILL)
        said, _ = run.communicate()
        most *= 0.8
        if said and n_killed < arguments.kills:
            # It was done before: once more from the start, with less time.
            shutil.rmtree(killed)
            killed.mkdir()
            n_killed, most = 0, max(most, 0.02)
            continue
        if said:
            resumed = f"{int(said)} of {arguments.samples} resumed by the last run"
            break
        assert run.returncode == -signal.SIGKILL, f"{what}: exit {run.returncode}"
        n_killed += 1
        # Killed behind the manifest, but for its report; after that a Writer refuses the dataset as
        # complete, whatever notes were not removed any more.
        notes = way == "pack"
        if hashes(killed, notes) == hashes(whole, notes):
            resumed = "the last one behind the last step"
            break
        notes = True
    # What a killed run left beside the output would be a file more.
    same = hashes(whole, notes) == hashes(killed, notes)
    assert same, f"{what}: other files or bytes"
    print(f"{what}: {seconds:.2f} s in one run; {n_killed} kills, {resumed}, equal files", flush=True)


if arguments.run:
    kind, way, format, out = arguments.run
    pack(kind, way, format, Path(out))
else:
    main()
