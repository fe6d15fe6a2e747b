"""What rows of bands cost: this loader beside rasterio (GDAL) and tifffile with NumPy.

    python benches/bands.py FOLDER [--rounds 5]

Makes TIFFs of 512 x 512 pixels below FOLDER once: 13 bands of u16 and 4 of f32, in tiles of 256 and in
strips of 16 rows, deflated with a predictor and uncompressed. Each round takes random crops of 224
pixels, or resizes parts of a quarter to all of the image to 224 pixels, flipped half of the time and
normalised per band to float32, by each of the three, one after the other, on one thread; the table has
the median CPU time per image. rasterio resizes by GDAL's bilinear resampling, tifffile's arrays are
resized by NumPy's products of matrices with the weights of the filter.
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
from rasterio.enums import Resampling
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


def ours(packed: Path, kind: str, mean: Any, std: Any, resized: bool) -> Callable[[], int]:
    _, n, _ = TYPES[kind]
    crop = T.RandomResizedCrop(CROP, (0.25, 1.0)) if resized else T.RandomCrop(CROP)
    crops = [T.Bands(n, kind), crop, T.RandomHorizontalFlip(), T.Normalize(mean, std)]
    loader = fdconvert.Loader(packed, 16, transform=crops, threads=1, label=None, output="numpy")
    return lambda: sum(len(images) for images, *_ in loader)


def theirs(
    folder: Path, read: Callable[[Path, int, int, int], Any], mean: Any, std: Any, resized: bool
) -> Callable[[], int]:
    files = sorted((folder / "all").iterdir())
    draw = np.random.default_rng(1)
    mean, std = np.float32(mean), np.float32(std)

    def epoch() -> int:
        batch = np.empty((16, CROP, CROP, len(mean)), np.float32)
        for number, file in enumerate(files):
            side = int(SIDE * draw.uniform(0.25, 1.0) ** 0.5) if resized else CROP
            top, left = draw.integers(0, SIDE - side + 1, 2)
            row = read(file, int(top), int(left), side).astype(np.float32)
            row = row[:, ::-1] if draw.random() < 0.5 else row
            batch[number % 16] = (row - mean) / std
        return len(files)

    return epoch


def by_rasterio(file: Path, top: int, left: int, side: int) -> Any:
    with rasterio.open(file) as dataset:
        window, shape = Window(left, top, side, side), (dataset.count, CROP, CROP)
        read = dataset.read(window=window, out_shape=shape, resampling=Resampling.bilinear)
        return np.moveaxis(read, 0, 2)


def weights(length: int) -> Any:
    step = length / CROP
    centres = (np.arange(CROP) + 0.5) * step
    found = np.maximum(0, 1 - np.abs((np.arange(length) + 0.5 - centres[:, None]) / max(step, 1.0)))
    return (found / found.sum(axis=1, keepdims=True)).astype(np.float32)


def by_tifffile(file: Path, top: int, left: int, side: int) -> Any:
    part = tifffile.imread(file)[top : top + side, left : left + side]
    if side == CROP:
        return part
    by = weights(side)
    n = part.shape[2]
    rows = (by @ part.astype(np.float32).reshape(side, -1)).reshape(CROP, side, n)
    return np.einsum("xw,ywc->yxc", by, rows, optimize=True)


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
            for resized in [False, True]:
                epochs = [
                    ours(args.folder / f"{kind} {name}.wds", kind, mean, std, resized),
                    theirs(folder, by_rasterio, mean, std, resized),
                    theirs(folder, by_tifffile, mean, std, resized),
                ]
                times: list[list[float]] = [[] for _ in epochs]
                for _ in range(args.rounds + 1):
                    for epoch, found in zip(epochs, times, strict=True):
                        began = time.process_time()
                        n_images = epoch()
                        found.append((time.process_time() - began) / n_images * 1000)
                medians = " | ".join(f"{statistics.median(found[1:]):.2f}" for found in times)
                how = "resized" if resized else "cut"
                print(f"| {n} bands of {kind}, {name}, {how} | {medians} |", flush=True)


if __name__ == "__main__":
    main()
