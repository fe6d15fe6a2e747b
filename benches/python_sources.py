#!/usr/bin/env python3
"""Arrays, a torch dataset and one of Hugging Face's library, packed, beside the same files as a folder.

    pip install . torch datasets pillow
    python benches/python_sources.py [IMAGES] [--samples 20000] [--rounds 5] [--only datasets]

Pictures as CIFAR-10 has them (32 x 32, ten classes): columns of NumPy, datasets of torch whose items
are tensors or images of Pillow, and rows of `datasets` with the bytes of JPEGs. With IMAGES also photos:
their JPEGs as a torch dataset that reads them and as rows of `datasets`. Each is packed by `pack`, and
sample by sample by a `Writer`, into each format. The folder has the same JPEGs, or PNGs of the pixels,
and the same options, by which pixels become PNGs, which those of the folder are already, and in betons
JPEGs. All runs of a source are in one process, by turns, so that imports are no part of them. Prints Markdown: medians of images/s, and of the ratios to the folder's
rate in each round, with their range.
"""
import argparse, io, os, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

import numpy as np
from end_to_end import copies
from from_python import Files, touch_memory

FORMATS = ("beton", "wds", "mds", "parquet")
SOURCES = (
    "arrays", "torch, tensors", "torch, Pillow", "datasets", "torch, photos", "datasets, photos",
)


def pictures(n):
    """Blocks of colours, so that PNG and JPEG have something to do, and labels."""
    rng = np.random.default_rng(7)
    blocks = rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)
    return blocks.repeat(4, axis=1).repeat(4, axis=2), rng.integers(0, 10, n)


def encoded(pixels, form):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, form, quality=90)
    return file.getvalue()


def write_folder(root, files):
    """Files and labels, one behind the other, in class folders."""
    for number, (content, label, extension) in enumerate(files):
        folder = root / f"class-{label}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:08}.{extension}").write_bytes(content)


def rows(contents, labels, names, store):
    """A dataset of Hugging Face on a disk, as its library loads it."""
    import datasets

    features = {"image": datasets.Image(), "label": datasets.ClassLabel(names=names)}
    images = [{"bytes": content, "path": None} for content in contents]
    found = datasets.Dataset.from_dict({"image": images, "label": labels}, datasets.Features(features))
    found.save_to_disk(store)
    return datasets.load_from_disk(store)


def prepared(kind, images, n_samples, scratch):
    """The source, its folder and the options of both."""
    root = scratch / "folder"
    if kind.endswith("photos"):
        copies(images, root, n_samples)
        files = Files(root)
        if kind.startswith("torch"):
            return files, root, {}
        contents, labels = zip(*map(files.__getitem__, range(len(files))))
        return rows(contents, labels, files.labels, scratch / "rows"), root, {}
    pixels, labels = pictures(n_samples)
    labels = labels.tolist()
    if kind == "datasets":
        jpegs = [encoded(it, "JPEG") for it in pixels]
        write_folder(root, zip(jpegs, labels, ["jpg"] * n_samples))
        names = [f"class-{number}" for number in range(10)]
        return rows(jpegs, labels, names, scratch / "rows"), root, {}
    write_folder(root, ((encoded(it, "PNG"), label, "png") for it, label in zip(pixels, labels)))
    if kind == "arrays":
        return {"image": pixels, "label": np.array(labels)}, root, {"encode": "png"}
    from PIL import Image
    import torch

    image_of = Image.fromarray if kind.endswith("Pillow") else torch.from_numpy

    class Pairs(torch.utils.data.Dataset):
        def __len__(self):
            return n_samples

        def __getitem__(self, index):
            return image_of(pixels[index]), labels[index]

    return Pairs(), root, {"encode": "png"}


def samples_of(source):
    """One after another, as a program would have them."""
    if isinstance(source, dict):
        for image, label in zip(source["image"], source["label"]):
            yield {"image": image, "label": label}
    elif hasattr(source, "features"):
        import datasets

        # As the guide has it: bytes, and not decoded images, and several rows at once.
        for rows in source.cast_column("image", datasets.Image(decode=False)).iter(64):
            for image, label in zip(rows["image"], rows["label"]):
                yield {"image": image, "label": label}
    else:
        for index in range(len(source)):
            image, label = source[index]
            yield {"image": image, "label": label}


def pack_folder(_, root, out, options):
    import fdconvert

    fdconvert.pack(root, out, **options)


def pack(source, _, out, options):
    import fdconvert

    fdconvert.pack(source, out, **options)


def write(source, _, out, options):
    import fdconvert

    with fdconvert.Writer(out, **options) as writer:
        for sample in samples_of(source):
            writer.write(sample)


def measure(kind, args, scratch):
    source, root, options = prepared(kind, args.images, args.n_samples, scratch)
    n_samples = sum(1 for path in root.rglob("*.*") if path.is_file())
    ways = {"folder": pack_folder, "pack": pack, "Writer": write}
    found = {(format, way): [] for format in FORMATS for way in ways}
    for round_ in range(args.rounds + 1):
        for format in FORMATS:
            its = options | {"format": format}
            if format == "beton" and "encode" in its:
                its["encode"] = "jpeg"
            for way, run in sorted(ways.items(), reverse=round_ % 2 == 1):
                out = scratch / f"x.{format}"
                touch_memory()
                os.sync()
                began = time.perf_counter()
                run(source, root, out, its)
                # The first round warms up.
                if round_:
                    found[format, way].append(time.perf_counter() - began)
                shutil.rmtree(out) if out.is_dir() else out.unlink()
    for (format, way), times in found.items():
        ratios = [base / its for base, its in zip(found[format, "folder"], times)]
        rate = n_samples / statistics.median(times)
        print(f"| {kind} | {format} | {way} | {rate:.0f} | {statistics.median(ratios):.2f} "
              f"| {min(ratios):.2f}-{max(ratios):.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path, nargs="?")
    parser.add_argument("--samples", dest="n_samples", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=SOURCES, help="measures one source alone, in this process")
    args = parser.parse_args()
    if args.only is None:
        print("| source | output | by | images/s | rate / folder's | range |\n|---|---|---|---|---|---|", flush=True)
        for kind in SOURCES:
            if args.images or not kind.endswith("photos"):
                subprocess.run([sys.executable, __file__, *sys.argv[1:], "--only", kind], check=True)
        return
    scratch = Path(tempfile.mkdtemp(prefix="fdconvert-bench-", dir="."))
    try:
        if args.only.endswith("photos"):
            args.n_samples = min(args.n_samples, 2000)
        measure(args.only, args, scratch)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
