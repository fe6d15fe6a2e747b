#!/usr/bin/env python3
"""Edits of large datasets of small samples: time, memory, and what is written.

    python benches/edits.py FOLDER [--program fdconvert] [--samples 10000000] [--shards 1250]

Makes synthetic datasets in FOLDER (some 20 GB, removed at the end): numbers for appending, and a
tenth as many samples of 2 KiB for removing and updating. Each command runs in a process of its own,
whose wall-clock time, CPU time and peak memory are printed as Markdown; beside an append the packing
of the same samples into a dataset of their own, and beside a removal `cp` of the bytes that it writes.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import fdconvert as fd


def run(*command):
    """Run a command; return its output, seconds, CPU seconds and peak MiB."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.perf_counter()
        process = subprocess.Popen([str(it) for it in command], stdout=output, text=True)
        # What the system says of a child's peak includes this process, before the other began.
        peak, status = 0, Path(f"/proc/{process.pid}/status")
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
            peak = max(peak, int(found[1]) if found else 0)
            time.sleep(0.001)
        seconds = time.perf_counter() - began
        if ended[1] != 0:
            raise SystemExit(f"{command}: status {ended[1]}")
        output.seek(0)
        usage = ended[2]
        return output.read(), seconds, usage.ru_utime + usage.ru_stime, peak / 1024


def row(name, result, note=""):
    _, seconds, cpu, mib = result
    print(f"| {name} | {seconds:.2f} | {cpu:.2f} | {mib:.0f} | {note} |", flush=True)


def size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def written(folder, since):
    files = [file for file in folder.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files if file.stat().st_mtime >= since)


def appends(args, folder):
    n, per_shard = args.samples, args.samples // args.shards
    more = folder / "more.mds"
    fd.pack({"x": np.arange(1000)}, more, schema={"x": "int"})
    for format in args.formats:
        whole = folder / f"whole.{format}"
        fd.pack({"x": np.arange(n)}, whole, schema={"x": "int"}, shard_count=per_shard)
        alone = folder / f"alone.{format}"
        row(f"{format}: pack 1,000", run(args.program, "pack", more, alone))
        time.sleep(0.1)
        since = time.time()
        result = run(args.program, "append", whole, more, "--json")
        bytes_written = written(whole, since) / 1024
        row(f"{format}: append 1,000 to {n:,}", result, f"{bytes_written:,.0f} KiB written")
        # Its keys are numbers that the dataset has, too: none is compared.
        row(f"{format}: open it", run(args.program, "inspect", whole, "--json"))
        shutil.rmtree(whole)


def changes(args, folder):
    n = args.samples // 10
    whole = folder / "changes.wds"
    data = np.random.default_rng(1).integers(0, 256, 2048, dtype=np.uint8).tobytes()
    samples = ({"x": data, "label": at % 10, "__key__": f"{at:08}"} for at in range(n))
    schema = {"x": "bytes", "label": "int"}
    fd.pack(samples, whole, schema=schema, shard_count=n // args.shards)
    total = size(whole)
    keys, table = folder / "keys.txt", folder / "labels.csv"
    step = n // 100
    keys.write_text("".join(f"{at * step:08}\n" for at in range(100)))
    table.write_text("path,label\n" + "".join(f"{at * 2 * step + 1:08},3\n" for at in range(50)))
    for name, option, file in [("remove", "--keys", keys), ("update", "--labels", table)]:
        time.sleep(0.1)
        since = time.time()
        result = run(args.program, name, whole, option, file, "--json")
        shards = json.loads(result[0])["shards_written"]
        changed = written(whole, since)
        note = f"{shards} of {args.shards} shards, {changed / 2**20:,.0f} of {total / 2**20:,.0f} MiB"
        row(f"wds: {name} {100 if name == 'remove' else 50} of {n:,}", result, note)
        copied = folder / "copied"
        copied.mkdir()
        files = [file for file in whole.glob("*") if file.is_file() and file.stat().st_mtime >= since]
        row(f"cp of these files, and sync", run("sh", "-c", f"cp {' '.join(map(str, files))} {copied}; sync {copied}/*"))
        shutil.rmtree(copied)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", default="fdconvert")
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=1250)
    parser.add_argument("--formats", default="mds,wds", type=lambda text: text.split(","))
    args = parser.parse_args()
    folder = args.folder / "edits"
    folder.mkdir(parents=True)
    print("| | seconds | CPU s | peak MiB | |\n|---|---:|---:|---:|---|")
    try:
        appends(args, folder)
        changes(args, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
