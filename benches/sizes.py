"""What batches of several sizes cost: buckets and patches beside plain batches of the same pixels.

    python benches/sizes.py DATASET [--rounds 5]

Each round takes one epoch of every loader, one after the other, on all threads; the table has the
median CPU time per image, and its quotient to that of the plain loader. Buckets are made of the shapes
of the images, of about as many pixels as the plain square, and patches of 16 of as many pixels.
"""

import argparse
import resource
import statistics
from typing import Any

import fdconvert
from fdconvert import Buckets, Loader, Patches
from fdconvert import transforms as T


def cpu_of_epoch(loader: Loader) -> float:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    before = used()
    n_rows = sum(len(batch) for batch in loader.batches())
    return (used() - before) / n_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", type=int, default=224)
    args = parser.parse_args()
    side, flip = args.side, [T.RandomHorizontalFlip()]
    buckets = Buckets.of_area(side * side, step=16, longest=3)
    n_patches = side * side // 256
    plain: dict[str, Any] = {"batch_size": 64, "seed": 7, "label": None, "output": "numpy"}
    loaders = {
        "one size": Loader(args.dataset, transform=[T.Cover(side), *flip], **plain),
        "buckets": Loader(args.dataset, sizes=buckets, transform=flip, **plain),
        "patches": Loader(args.dataset, sizes=Patches(n_patches), transform=flip, **plain),
        "own sizes": Loader(args.dataset, sizes="own", transform=[T.Resize(side), *flip], **plain),
    }
    times: dict[str, list[float]] = {name: [] for name in loaders}
    for _ in range(args.rounds + 1):
        for name, loader in loaders.items():
            times[name].append(cpu_of_epoch(loader))
    print(f"fdconvert {fdconvert.__version__}, {len(buckets.sizes)} buckets\n")
    print("| | CPU ms per image | to one size |\n|---|---:|---:|")
    first = statistics.median(times["one size"][1:])
    for name, seconds in times.items():
        median = statistics.median(seconds[1:])
        print(f"| {name} | {median * 1000:.3f} | {median / first:.3f} |")


if __name__ == "__main__":
    main()
