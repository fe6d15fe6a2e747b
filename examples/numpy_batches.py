"""Goes over a dataset once and tells the mean and the spread of its colours, with NumPy alone.

    pip install . numpy
    python examples/numpy_batches.py                 # the sample photos of this repository
    python examples/numpy_batches.py train.beton     # any dataset, or a folder of images
"""

import sys
from pathlib import Path

import numpy as np

import fdconvert

PHOTOS = Path(__file__).parents[1] / "tests" / "fixtures" / "kodak"


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else PHOTOS
    # `pad` keeps all batches of one shape; `valid` is false for what fills up the last one.
    in_order, padded = fdconvert.Sequential(), fdconvert.Ranks(last="pad")
    with fdconvert.Loader(path, 8, label=None, sampling=in_order, ranks=padded, output="numpy") as loader:
        n_pixels = 0
        total, squares = np.zeros(3), np.zeros(3)
        for batch in loader.batches():
            # A view of the loader's memory, which goes back to it with the next turn.
            images = batch.images[batch.valid] / 255
            n_pixels += images[..., 0].size
            total += images.sum(axis=(0, 1, 2))
            squares += (images**2).sum(axis=(0, 1, 2))
            print(f"batch {batch.step}: {batch.images.shape}, samples {batch.samples.tolist()}")
        mean = total / n_pixels
        std = np.sqrt(squares / n_pixels - mean**2)
        print(f"mean = {mean.round(3).tolist()}, std = {std.round(3).tolist()}")
        stats = loader.stats()
        print(f"{stats['samples']} rows in {stats['elapsed_s']:.2f} s, {stats['verdict']}")


if __name__ == "__main__":
    main()
