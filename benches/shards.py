#!/usr/bin/env python3
"""Copying images into tar shards and reading them again, interleaved with what it is compared to.

    benches/shards.py IMAGES [--webdataset PYTHON] [--images 2000] [--rounds 5]

PYTHON is one of an environment in which `import webdataset` works. Everything is warm; `pack` syncs
to disk and writes checksums, index and sidecars, the others do not. Prints Markdown.
"""
import argparse, os, shutil, statistics, subprocess, sys, tarfile, tempfile, time
from pathlib import Path

from end_to_end import copies, measure

SHARD_WRITER = """
import sys, pathlib, webdataset
files = sorted(path for path in pathlib.Path(sys.argv[1]).rglob("*") if path.is_file())
classes = sorted({path.parent.name for path in files})
with webdataset.ShardWriter(sys.argv[2] + "/train-%06d.tar", maxcount=500, verbose=0) as sink:
    import time; began = time.perf_counter(); cpu = time.process_time()
    for path in files:
        sink.write({"__key__": path.stem, "jpg": path.read_bytes(), "cls": classes.index(path.parent.name)})
print(time.perf_counter() - began, time.process_time() - cpu)
"""


def by_tarfile(shards):
    """Seconds to read every sample's bytes with Python's tarfile as a stream."""
    began, cpu, n_bytes = time.perf_counter(), time.process_time(), 0
    for shard in shards:
        with tarfile.open(shard, "r|") as archive:
            for member in archive:
                n_bytes += len(archive.extractfile(member).read())
    return time.perf_counter() - began, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path)
    parser.add_argument("--bin", type=Path, default=Path("target/release/fdconvert"))
    parser.add_argument("--webdataset", type=Path)
    parser.add_argument("--images", dest="n_images", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="fdconvert-bench-", dir="."))
    try:
        source = scratch / "source"
        files = copies(args.images, source, args.n_images)
        size = sum(p.stat().st_size for p in files)
        print(f"{len(files)} images, {size / 1e6:.1f} MB\n")
        out = scratch / "shards"
        binary = args.bin.resolve()
        pack = [binary, "pack", source, out, "--format", "wds", "--shard-count", "500", "-q"]
        times = {}

        def note(name, result):
            times.setdefault(name, []).append(result)

        for round_ in range(args.rounds + 1):
            results = {}
            for threads in ("1", "2"):
                shutil.rmtree(out, ignore_errors=True)
                os.sync()
                results[f"pack to wds, {threads} thread{'s' * (threads != '1')}"] = measure([*pack, "--threads", threads])
            for threads in ("1", "2"):
                (scratch / "x.beton").unlink(missing_ok=True)
                os.sync()
                results[f"pack to beton, {threads} thread{'s' * (threads != '1')}"] = measure(
                    [binary, "pack", source, scratch / "x.beton", "-q", "--threads", threads])
            shutil.rmtree(scratch / "copy", ignore_errors=True)
            os.sync()
            results["cp -r"] = measure(["cp", "-r", source, scratch / "copy"])
            if args.webdataset:
                shutil.rmtree(scratch / "sw", ignore_errors=True)
                (scratch / "sw").mkdir()
                os.sync()
                run = subprocess.run([args.webdataset.absolute(), "-c", SHARD_WRITER, source, scratch / "sw"],
                                     capture_output=True, text=True)
                if run.returncode != 0:
                    sys.exit(run.stderr[-2000:])
                results["webdataset.ShardWriter"] = tuple(map(float, run.stdout.split()))
            results["read: Python tarfile"] = by_tarfile(sorted(out.glob("*.tar")))
            if round_ > 0:  # The first warms caches.
                for name, result in results.items():
                    note(name, result)
        print("| run | images/s | range | CPU s |")
        print("|---|---|---|---|")
        for name, results in times.items():
            wall = statistics.median(w for w, _ in results)
            cpu = statistics.median(c for _, c in results)
            rates = sorted(len(files) / w for w, _ in results)
            print(f"| {name} | {len(files) / wall:.0f} | {rates[0]:.0f}-{rates[-1]:.0f} | {cpu:.2f} |")
        tars = sum(p.stat().st_size for p in out.glob("*.tar"))
        print(f"\nTar bytes beyond the images: {(tars - size) / len(files):.0f} per sample.")
        sys.stdout.flush()
        subprocess.run(["cargo", "run", "--release", "--quiet", "--example", "read_rate", "--", out], check=True)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
