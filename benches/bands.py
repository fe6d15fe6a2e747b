"""What rows of bands cost: this loader beside rasterio (GDAL) and tifffile with NumPy.

    python benches/bands.py FOLDER [--rounds 5]

Makes TIFFs of 512 x 512 pixels below FOLDER once: 13 bands of u16 and 4 of f32, in tiles of 256 and in
strips of 16 rows, deflated with a predictor and uncompressed. Each round takes random crops of 224
pixels, flipped half of the time and normalised per band to float32, by each of the three, one after the
other, on one thread; the table has the median CPU time per image.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fdconvert
import numpy as np
import rasterio
import tifffile
from fdconvert import transforms as T
from rasterio.windows import Window

N_IMAGES, SIDE, CROP = 64, 512, 224
TYPES = {"u16": (np.uint16, 13, 2), "f32": (np.float32, 4, 3)}


def image(kind: str, seed: int) -> Any:
    dtype, n, _ = TYPES[kind]
    draw = np.random.default_rng(seed)
    ramp = np.linspace(0.1, 0.6, SIDE)[:, None, None] + np.linspace(0, 0.3, SIDE)[None, :, None]
    made = ramp + draw.normal(0, 0.002, (SIDE, SIDE, n))
    return (made * 10_000).astype(dtype) if kind == "u16" else made.astype(dtype)


def make(folder: Path, kind: str, layout: dict[str, Any]) -> None:
    (folder / "all").mkdir(parents=True)
    for number in range(N_IMAGES):
        path = folder / "all" / f"{number:03}.tif"
        tifffile.imwrite(path, image(kind, number), photometric="minisblack", planarconfig="contig", **layout)


def ours(packed: Path, kind: str, mean: Any, std: Any) -> Callable[[], int]:
    _, n, _ = TYPES[kind]
    crops = [T.Bands(n, kind), T.RandomCrop(CROP), T.RandomHorizontalFlip(), T.Normalize(mean, std)]
    loader = fdconvert.Loader(packed, 16, transform=crops, threads=1, label=None, output="numpy")
    return lambda: sum(len(images) for images, *_ in loader)


def theirs(folder: Path, read: Callable[[Path, int, int], Any], mean: Any, std: Any) -> Callable[[], int]:
    files = sorted((folder / "all").iterdir())
    draw = np.random.default_rng(1)
    mean, std = np.float32(mean), np.float32(std)

    def epoch() -> int:
        batch = np.empty((16, CROP, CROP, len(mean)), np.float32)
        for number, file in enumerate(files):
            top, left = draw.integers(0, SIDE - CROP + 1, 2)
            row = read(file, int(top), int(left)).astype(np.float32)
            row = row[:, ::-1] if draw.random() < 0.5 else row
            batch[number % 16] = (row - mean) / std
        return len(files)

    return epoch


def by_rasterio(file: Path, top: int, left: int) -> Any:
    with rasterio.open(file) as dataset:
        return np.moveaxis(dataset.read(window=Window(left, top, CROP, CROP)), 0, 2)


def by_tifffile(file: Path, top: int, left: int) -> Any:
    return tifffile.imread(file)[top : top + CROP, left : left + CROP]


def main() -> None:
    os.environ["GDAL_NUM_THREADS"] = "1"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    versions = f"fdconvert {fdconvert.__version__}, rasterio {rasterio.__version__}, GDAL {rasterio.__gdal_version__}"
    print(f"{versions}, tifffile {tifffile.__version__}\n")
    print("| CPU ms per image | ours | rasterio | tifffile |\n|---|---:|---:|---:|")
    for kind, (_, n, predictor) in TYPES.items():
        deflated = {"compression": "deflate", "predictor": predictor}
        layouts = {
            "tiles, deflated": {"tile": (256, 256)} | deflated,
            "strips, deflated": {"rowsperstrip": 16} | deflated,
            "strips": {"rowsperstrip": 16},
        }
        for name, layout in layouts.items():
            folder = args.folder / f"{kind} {name}"
            if not folder.exists():
                make(folder, kind, layout)
                fdconvert.pack(folder, args.folder / f"{kind} {name}.wds", progress=None)
            mean, std = [0.5 + it for it in range(n)], [1.5 + it for it in range(n)]
            epochs = [
                ours(args.folder / f"{kind} {name}.wds", kind, mean, std),
                theirs(folder, by_rasterio, mean, std),
                theirs(folder, by_tifffile, mean, std),
            ]
            times: list[list[float]] = [[] for _ in epochs]
            for _ in range(args.rounds + 1):
                for epoch, found in zip(epochs, times, strict=True):
                    began = time.process_time()
                    n_images = epoch()
                    found.append((time.process_time() - began) / n_images * 1000)
            medians = [statistics.median(found[1:]) for found in times]
            print(f"| {n} bands of {kind}, {name} | " + " | ".join(f"{it:.2f}" for it in medians) + " |", flush=True)


if __name__ == "__main__":
    main()
