#!/usr/bin/env python3
"""Two versions of fdconvert, interleaved: packing, shards, single samples and batches.

    benches/versions.py IMAGES OLD NEW [--images 2000] [--rounds 9] [--only TEXT]... [--repeat 1]

OLD and NEW are target folders with a release build of the command and of the examples
`random_access` and `throughput` (`cargo build --release --workspace --examples --bins`). The order
of the two changes from round to round. Prints Markdown: CPU seconds of processes, medians, and the
ratio of NEW to OLD with the range of the ratios of all rounds. `--only` takes the runs whose names
have TEXT in them; `--repeat 5` runs each command five times for a time, where one run is shorter than
what the kernel counts. Files are made in the working directory: in `/dev/shm` no disk takes part.
"""
import argparse, os, shutil, statistics, subprocess, tempfile
from pathlib import Path

from end_to_end import copies, measure



def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--images", dest="n_images", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--repeat", type=int, default=1)
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="fdconvert-bench-", dir="."))
    try:
        source = scratch / "source"
        copies(args.images, source, args.n_images)
        versions = {"old": args.old.resolve() / "release", "new": args.new.resolve() / "release"}
        beton = scratch / "base.beton"
        # Each has shards of its own: records may differ.
        own = {build: scratch / f"{which}.wds" for which, build in versions.items()}
        subprocess.run([versions["new"] / "fdconvert", "pack", source, beton, "-q", "--jpeg-index", "on"], check=True)
        for build, shards in own.items():
            subprocess.run([build / "fdconvert", "pack", source, shards, "-q"], check=True)
        runs = {
            "pack, kept, beton": lambda b: [b / "fdconvert", "pack", source, scratch / "x.beton", "-q", "--threads", "1", "--jpeg-index", "off"],
            "pack, kept, wds": lambda b: [b / "fdconvert", "pack", source, scratch / "x.wds", "-q", "--threads", "1", "--jpeg-index", "off"],
            "pack, kept, mds": lambda b: [b / "fdconvert", "pack", source, scratch / "x.mds", "-q", "--threads", "1"],
            "pack, entry points": lambda b: [b / "fdconvert", "pack", source, scratch / "x.beton", "-q", "--threads", "1", "--jpeg-index", "on"],
            "pack, re-encoded": lambda b: [b / "fdconvert", "pack", source, scratch / "x.beton", "-q", "--threads", "1", "--jpeg-index", "off", "--jpeg-quality", "90", "--max-side", "500"],
            "repack, beton to wds": lambda b: [b / "fdconvert", "pack", beton, scratch / "x.wds", "-q", "--threads", "1", "--jpeg-index", "off"],
            "verify, shards": lambda b: [b / "fdconvert", "verify", own[b], "-q"],
            "get(i), 4 threads": lambda b: [b / "examples/random_access", beton],
            "get(i), shards": lambda b: [b / "examples/random_access", own[b]],
            "batches, one epoch": lambda b: [b / "examples/throughput", beton, "random", "2", "1"],
        }
        if args.only:
            runs = {name: run for name, run in runs.items() if any(it in name for it in args.only)}
        times = {name: {"old": [], "new": []} for name in runs}
        for round_ in range(args.rounds + 1):
            for name, command in runs.items():
                for which in sorted(versions, reverse=round_ % 2 == 1):
                    cpu = 0.0
                    for _ in range(args.repeat):
                        # Whatever is there already might be resumed.
                        for out in scratch.glob("x.*"):
                            shutil.rmtree(out) if out.is_dir() else out.unlink()
                        os.sync()
                        cpu += measure(command(versions[which]))[1]
                    # The first round warms up.
                    if round_:
                        times[name][which].append(cpu)
        print("| run | old, CPU s | new, CPU s | new / old | range |\n|---|---|---|---|---|")
        for name, found in times.items():
            ratios = [new / old for old, new in zip(found["old"], found["new"])]
            old, new = (statistics.median(found[which]) for which in ("old", "new"))
            print(f"| {name} | {old:.3f} | {new:.3f} | {statistics.median(ratios):.3f} | {min(ratios):.3f}-{max(ratios):.3f} |")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
