#!/usr/bin/env python3
"""Samples that Python has, packed, beside the same images as a folder, and Parquet beside pyarrow.

    pip install . pyarrow
    python benches/from_python.py IMAGES [--images 2000] [--rounds 7] [--only parquet]

The JPEGs in IMAGES, copied up to the number of images, are packed with their bytes kept: from a
folder, from a sequence that reads them (`pack`), and one after another (`Writer`), into each format;
then re-encoded at 256 pixels, which is what
most datasets are packed for. pyarrow writes the same
Parquet file: groups of a hundred rows, not compressed, as JPEGs are already. Each run is a process of
its own; they take turns. Free memory of a virtual machine may have been given back to its host, and
costs up to three times as much when it is used again: before each run a gigabyte is touched and freed, so
that all of them find the same. Prints Markdown: medians of images/s and CPU milliseconds of an image, and the
medians of the ratios of each round; then how many times pyarrow's rate the others make of Parquet.
"""
import argparse, json, mmap, os, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

from end_to_end import copies

FORMATS = ("beton", "wds", "mds", "parquet")


class Files:
    """A dataset as torch knows them."""

    def __init__(self, root):
        self.paths = sorted(root.rglob("*.*"))
        self.labels = sorted({path.parent.name for path in self.paths})

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        return path.read_bytes(), self.labels.index(path.parent.name)


def folder(root, out, **options):
    import fdconvert

    return lambda: fdconvert.pack(root, out, **options)


def sequence(root, out, **options):
    import fdconvert

    files = Files(root)
    schema = {"image": "image", "label": files.labels}
    return lambda: fdconvert.pack(files, out, schema=schema, **options)


def writer(root, out, **options):
    import fdconvert

    files = Files(root)
    schema = {"image": "image", "label": files.labels}

    def run():
        with fdconvert.Writer(out, schema=schema, **options) as writer:
            for image, label in map(files.__getitem__, range(len(files))):
                writer.write({"image": image, "label": label})

    return run


def arrow(root, out, **_):
    import pyarrow
    from pyarrow import parquet

    files = Files(root)
    image = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    schema = pyarrow.schema([("image", image), ("label", pyarrow.int64())])

    def run():
        with parquet.ParquetWriter(out, schema, compression="none", use_dictionary=False) as writer:
            for start in range(0, len(files), 100):
                part = [files[at] for at in range(start, min(start + 100, len(files)))]
                names = [path.name for path in files.paths[start : start + 100]]
                images = [{"bytes": data, "path": name} for (data, _), name in zip(part, names)]
                columns = {"image": images, "label": [label for _, label in part]}
                writer.write_table(pyarrow.table(columns, schema=schema))
        # The others sync what they write.
        with open(out, "rb") as file:
            os.fsync(file.fileno())

    return run


def touch_memory(n_bytes=1 << 30):
    """Leaves so much free memory that the machine has, and not only its host."""
    with mmap.mmap(-1, n_bytes) as memory:
        for at in range(0, n_bytes, mmap.PAGESIZE):
            memory[at] = 1


def measure(kind, root, out, options):
    """Seconds and processor seconds of a run in a process of its own, without its imports."""
    touch_memory()
    code = [sys.executable, __file__, "--one", json.dumps([kind, str(root), str(out), options])]
    result = json.loads(subprocess.run(code, check=True, capture_output=True, text=True).stdout)
    shutil.rmtree(out) if out.is_dir() else out.unlink()
    return result


def one(kind, root, out, options):
    run = globals()[kind](Path(root), out, **options)
    began, worked = time.perf_counter(), time.process_time()
    run()
    print(json.dumps([time.perf_counter() - began, time.process_time() - worked]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path)
    parser.add_argument("--images", dest="n_images", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=FORMATS, help="measures one format alone")
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="fdconvert-bench-", dir="."))
    try:
        root = scratch / "source"
        copies(args.images, root, args.n_images)
        small = {"format": "beton", "jpeg_quality": 90, "max_side": 256}
        outputs = [(name, {"format": name}) for name in FORMATS] + [("beton, 256 pixels", small)]
        if args.only:
            outputs = [(name, options) for name, options in outputs if name == args.only]
        runs = []
        for name, options in outputs:
            runs += [(name, kind, kind, options) for kind in ("folder", "sequence", "writer")]
        if args.only in (None, "parquet"):
            runs.append(("parquet", "arrow", "arrow", {}))
        found = {(name, label): [] for name, label, _, _ in runs}
        for round_ in range(args.rounds + 1):
            for name, label, kind, options in runs if round_ % 2 else reversed(runs):
                os.sync()
                times = measure(kind, root, scratch / f"x.{name[:3]}", options)
                # The first round warms up.
                if round_:
                    found[name, label].append(times)
        print("| output | from | images/s | CPU-ms an image | rate / folder's | range |\n|---|---|---|---|---|---|")
        for (name, label), times in found.items():
            base = found[name, "folder"]
            ratios = [theirs[0] / ours[0] for theirs, ours in zip(base, times)]
            rate = args.n_images / statistics.median(wall for wall, _ in times)
            cpu = statistics.median(cpu for _, cpu in times) / args.n_images * 1e3
            print(f"| {name} | {label} | {rate:.0f} | {cpu:.3f} | {statistics.median(ratios):.2f} "
                  f"| {min(ratios):.2f}-{max(ratios):.2f} |")
        if theirs := found.get(("parquet", "arrow")):
            for kind in ("folder", "sequence", "writer"):
                pairs = zip(theirs, found["parquet", kind])
                ratios = [slow[0] / fast[0] for slow, fast in pairs]
                middle = statistics.median(ratios)
                print(f"\nParquet, {kind}: {middle:.2f} times pyarrow ({min(ratios):.2f}-{max(ratios):.2f})")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        kind, root, out, options = json.loads(sys.argv[2])
        one(kind, root, out, options)
    else:
        main()
