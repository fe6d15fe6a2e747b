#!/usr/bin/env python3
"""A thousand shards past the page cache, when every read takes its time: batches and open files.

    python benches/many_shards.py [--shards 1000] [--latency 0.065]

Needs the package `fdconvert`. Packs its own photos, two to a shard.
"""
import argparse, os, shutil, subprocess, sys, tempfile, time
from pathlib import Path

import fdconvert


def open_shards():
    count = 0
    for name in os.listdir("/proc/self/fd"):
        # The loader's threads close files meanwhile.
        try:
            count += os.readlink(f"/proc/self/fd/{name}").endswith(".tar")
        except FileNotFoundError:
            pass
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.065)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as root:
        photos, source, out = (Path(root, name) for name in ("photos", "source", "out"))
        subprocess.run([sys.executable, "-m", "fdconvert", "sample", photos, "-q"], check=True)
        files = sorted(photos.rglob("*.jpg"))
        for index in range(2 * args.shards):
            folder = source / str(index % 10)
            folder.mkdir(parents=True, exist_ok=True)
            os.link(files[index % len(files)], folder / f"{index:05}.jpg")
        fdconvert.pack(source, out, format="wds", shards=args.shards, shuffle=True)
        print("| reads in flight | first batch of 64, s | images/s then | most files open |\n|---|---|---|---|")
        for threads in (1, 16, 64):
            began = time.perf_counter()
            loader = fdconvert.Loader(
                out, 64, access="direct", latency=args.latency, fetch_threads=threads, threads=2
            )
            batches = iter(loader)
            next(batches)
            first, most, n = time.perf_counter() - began, 0, 0
            began = time.perf_counter()
            for images, _ in batches:
                most = max(most, open_shards())
                n += len(images)
                if n >= 64 * threads:
                    break
            print(f"| {threads} | {first:.2f} | {n / (time.perf_counter() - began):.0f} | {most} |")


if __name__ == "__main__":
    main()
