#!/usr/bin/env python3
"""Do two builds of the command write the same bytes? Packs 51 datasets with each and compares all files.

    scripts/same-bytes.py IMAGES OLD NEW

IMAGES is a folder of class folders, OLD and NEW are two commands. Works in a temporary folder.
Prints a line for each dataset that differs, with the files that do, and exits with 1 if any does.
"""
import argparse, hashlib, os, shutil, subprocess, sys, tempfile
from pathlib import Path

FORMATS = ["beton", "wds", "mds", "parquet", "folder", "mixed"]
FRACTALS = {
    "fractaldb": "classes=2&instances=100&size=64", "mv-fractaldb": "classes=2&instances=145&size=64",
    "ofdb": "classes=4&instances=4&size=64", "rcdb": "classes=4&instances=4&size=64",
    "visual_atom": "classes=4&instances=4&size=64", "svd": "classes=4&instances=4&size=64",
}


def datasets(source: str) -> dict[str, list[str]]:
    """Names, and sources and options to pack, without the output."""
    runs = {}
    for name in FORMATS:
        ratio = ["--ratio", "0.3"] if name == "mixed" else []
        base = [source, "--format", name, *ratio]
        runs[f"{name}"] = base
        runs[f"{name} re-encoded"] = [*base, "--jpeg-quality", "85", "--max-side", "200"]
        runs[f"{name} shuffled, split"] = [*base, "--shuffle", "--seed", "3", "--split", "train=0.8,val=0.2"]
        runs[f"{name} a sample, chosen"] = [*base, "--sample", "60%", "--where", "width >= 64 && bytes >= 100"]
        if name != "beton":
            runs[f"{name} png"] = [*base, "--encode", "png", "--short-side", "64"]
        if name in ("wds", "mds", "mixed"):
            runs[f"{name} small shards"] = [*base, "--shard-count", "7"]
    for family, keys in FRACTALS.items():
        runs[f"{family} to wds"] = [f"fractal:{family}?{keys}", "--format", "wds"]
    more = {
        "beton, entry points": ["--format", "beton", "--jpeg-index", "1024"],
        "wds, no entry points": ["--format", "wds", "--jpeg-index", "off"],
        "beton of FFCV": ["--format", "beton", "--compat", "ffcv", "--jpeg-quality", "90"],
        "beton, smart": ["--format", "beton", "--encode", "smart", "--max-side", "128"],
        "beton, mix": ["--format", "beton", "--encode", "mix:0.5"],
        "beton, raw": ["--format", "beton", "--encode", "raw", "--max-side", "96"],
        "wds, webp": ["--format", "wds", "--encode", "webp", "--max-side", "64"],
        "wds, optimized tables": ["--format", "wds", "--jpeg-quality", "70", "--optimize-huffman"],
        "wds, restart markers": ["--format", "wds", "--jpeg-quality", "70", "--restart-rows", "1"],
        "wds, metadata removed": ["--format", "wds", "--strip-metadata", "all"],
        "wds, no duplicates": ["--format", "wds", "--dedup", "exact"],
        "fractals to a beton": ["--format", "beton"],
        "mds, equal shards": ["--format", "mds", "--shards", "4", "--shards-multiple-of", "2"],
    }
    runs.update({name: [source, *options] for name, options in more.items()})
    runs["fractals to a beton"][0] = "fractal:ofdb?classes=4&instances=4&size=64"
    return runs


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def pack(command: Path, options: list[str], folder: Path):
    folder.mkdir()
    done = subprocess.run([command, "pack", *options, folder / "out", "-q"], capture_output=True, text=True)
    return (done.returncode, "" if done.returncode == 0 else done.stderr.strip()), hashes(folder)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    args = parser.parse_args()
    runs, differ = datasets(str(args.images.resolve())), 0
    with tempfile.TemporaryDirectory(prefix="fdconvert-same-") as scratch:
        for at, (name, options) in enumerate(runs.items()):
            ends = [pack(command.resolve(), options, Path(scratch) / f"{at}-{which}")
                    for which, command in enumerate([args.old, args.new])]
            (old_end, old), (new_end, new) = ends
            files = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
            if files or old_end[0] != new_end[0]:
                differ += 1
                print(f"{name}: {len(files)} of {len(old.keys() | new.keys())} files: {', '.join(files[:6])} {old_end} {new_end}")
            elif old_end[0] != 0:
                print(f"{name}: both fail: {new_end[1]}")
            for which in range(2):
                shutil.rmtree(Path(scratch) / f"{at}-{which}")
    print(f"{len(runs)} datasets, {differ} with other bytes")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
