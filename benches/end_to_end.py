#!/usr/bin/env python3
"""Whole runs of `fdconvert pack`, interleaved with what they are compared to.

    benches/end_to_end.py IMAGES [--ffcv PYTHON --ffcv-scripts DIR] [--images 2000] [--rounds 5]

IMAGES is a folder of class folders; it is copied until there are --images files. PYTHON is one of
an environment in which `import ffcv` works, DIR holds a `bench_write.py` that writes a folder of
images (environment variable IMAGENET) with FFCV's DatasetWriter. Prints medians with their spread
as Markdown. CPU time is that of the child process and its children; it is the number to trust on
a machine that does other things too.
"""
import argparse, os, re, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path


def megapixels(files):
    """Sum of width * height, from `fdconvert inspect`-free header parsing of JPEG and PNG."""
    import struct
    total = 0
    for path in files:
        data = path.read_bytes()
        if data[:8] == b"\x89PNG\r\n\x1a\n":
            w, h = struct.unpack(">II", data[16:24])
        else:
            at = 2
            while not (0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC)):
                at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
            h, w = struct.unpack(">HH", data[at + 5 : at + 9])
        total += w * h
    return total / 1e6


def copies(source, target, n_images):
    """n_images files in class folders, each image as often as needed; gives their paths."""
    originals = sorted(p for p in source.rglob("*") if p.suffix.lower() in (".jpeg", ".jpg", ".png"))
    out = []
    for i in range(n_images):
        original = originals[i % len(originals)]
        folder = target / original.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{original.stem}_{i // len(originals):03}{original.suffix}"
        shutil.copyfile(original, path)
        out.append(path)
    return out


def measure(command):
    """Wall and CPU seconds of a command, its children included."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    if status != 0:
        sys.exit(f"failed with {status}: {' '.join(map(str, command))}")
    return wall, usage.ru_utime + usage.ru_stime


def measure_ffcv(command, folder, source):
    """What FFCV's script says of its writing alone: importing Python packages takes seconds."""
    env = dict(os.environ, IMAGENET=str(source.resolve()))
    run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    found = re.search(r"wall=([\d.]+)s.*child_cpu=([\d.]+)s", run.stdout)
    if run.returncode != 0 or not found:
        sys.exit(f"failed with {run.returncode}: {run.stderr[-2000:]}")
    return float(found[1]), float(found[2])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path)
    parser.add_argument("--bin", type=Path, default=Path("target/release/fdconvert"))
    parser.add_argument("--ffcv", type=Path)
    parser.add_argument("--ffcv-scripts", type=Path)
    parser.add_argument("--images", dest="n_images", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="fdconvert-bench-", dir="."))
    try:
        source = scratch / "source"
        files = copies(args.images, source, args.n_images)
        mp, size = megapixels(files), sum(p.stat().st_size for p in files)
        print(f"{len(files)} images, {mp:.1f} source megapixels, {size / 1e6:.1f} MB\n")
        out = scratch / "out.beton"
        binary = args.bin.resolve()
        pack = [binary, "pack", source, out, "--overwrite", "-q"]
        reencode = [*pack, "--encode", "jpeg", "--jpeg-quality", "90", "--max-side", "500"]
        runs = {
            "re-encode, 1 thread": [*reencode, "--threads", "1"],
            "re-encode, 2 threads": [*reencode, "--threads", "2"],
            "keep, 1 thread": [*pack, "--threads", "1"],
            "keep, 2 threads": [*pack, "--threads", "2"],
            "cp -r": ["cp", "-r", source, scratch / "copy"],
            "cp -r, sync": ["sh", "-c", f"cp -r {source} {scratch}/copy && sync -f {scratch}/copy"],
        }
        if args.ffcv:
            script = [args.ffcv.absolute(), "bench_write.py", out.resolve()]
            for workers in ("1", "2"):
                runs[f"FFCV, {workers} worker{'s' * (workers != '1')}"] = [
                    *script, "--mode", "jpg", "--max-res", "500", "--quality", "90", "--workers", workers]
        times = {name: [] for name in runs}
        for round_ in range(args.rounds + 1):
            for name, command in runs.items():
                shutil.rmtree(scratch / "copy", ignore_errors=True)
                out.unlink(missing_ok=True)
                os.sync()
                if name.startswith("FFCV"):
                    result = measure_ffcv(command, args.ffcv_scripts, source)
                else:
                    result = measure(command)
                if round_ > 0:  # The first warms caches.
                    times[name].append(result)
        print("| run | images/s | range | wall s | CPU s | CPU-ms per source megapixel |")
        print("|---|---|---|---|---|---|")
        for name, results in times.items():
            wall = statistics.median(w for w, _ in results)
            cpu = statistics.median(c for _, c in results)
            rates = sorted(len(files) / w for w, _ in results)
            print(f"| {name} | {len(files) / wall:.0f} | {rates[0]:.0f}-{rates[-1]:.0f} | {wall:.2f} | {cpu:.2f} | {cpu * 1000 / mp:.2f} |")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
