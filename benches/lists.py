"""What lists of images cost a loader, beside the same images one a sample.

    python benches/lists.py IMAGES FOLDER [--rounds 7]

Packs the JPEGs below IMAGES to FOLDER twice, one a sample and in lists of four. Each round takes one
epoch of both loaders, on one thread, with all images decoded whole at their own sizes; the table has the
median CPU time per image.
"""

import argparse
import statistics
import time
from pathlib import Path

import fdconvert


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("images", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    files = sorted(args.images.rglob("*.JPEG")) + sorted(args.images.rglob("*.jpg"))
    files = files[: len(files) // 4 * 4]
    lists = [{"images": files[at : at + 4], "number": at} for at in range(0, len(files), 4)]
    singles = [{"image": file, "number": at} for at, file in enumerate(files)]
    fdconvert.pack(lists, args.folder / "lists.wds", schema={"images": "images", "number": "int"}, overwrite=True)
    fdconvert.pack(singles, args.folder / "singles.wds", schema={"image": "image", "number": "int"}, overwrite=True)
    plain = {"seed": 7, "label": None, "output": "numpy", "threads": 1}
    loaders = {
        "one a sample": fdconvert.Loader(args.folder / "singles.wds", 16, sizes="own", **plain),
        "lists of four": fdconvert.Loader(args.folder / "lists.wds", 4, fields=["images"], **plain),
    }
    times: dict[str, list[float]] = {name: [] for name in loaders}
    for _ in range(args.rounds + 1):
        for name, loader in loaders.items():
            began = time.process_time()
            for _ in loader.batches():
                pass
            times[name].append((time.process_time() - began) / len(files) * 1000)
    print(f"fdconvert {fdconvert.__version__}, {len(files)} images\n")
    print("| | CPU ms per image | to one a sample |\n|---|---:|---:|")
    first = statistics.median(times["one a sample"][1:])
    for name, found in times.items():
        median = statistics.median(found[1:])
        print(f"| {name} | {median:.3f} | {median / first:.3f} |")


if __name__ == "__main__":
    main()
