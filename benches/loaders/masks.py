#!/usr/bin/env python3
"""What a mask costs a loader, beside what its decoding and resizing cost alone.

    masks.py IMAGES [--images 600] [--rounds 7]

Each JPEG of IMAGES gets a gray PNG of its size, with rectangles of labels, as its mask. Three loaders
of one thread take turns: images alone, images with masks, and the masks as the images of a dataset of
their own, with the same crops. Prints the CPU-ms a sample of each, medians and ranges.
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

import fdconvert
from fdconvert import transforms as T
from PIL import Image, ImageDraw, ImageOps

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("images", type=Path)
parser.add_argument("--images", dest="n_images", type=int, default=600)
parser.add_argument("--rounds", type=int, default=7)


def mask_of(size, seed):
    chance = random.Random(seed)
    mask = Image.new("L", size)
    pen = ImageDraw.Draw(mask)
    for label in range(1, 9):
        left, top = chance.randrange(size[0]), chance.randrange(size[1])
        pen.rectangle((left, top, left + size[0] // 3, top + size[1] // 3), fill=label)
    return mask


def main():
    args = parser.parse_args()
    originals = sorted(args.images.rglob("*.JPEG")) + sorted(args.images.rglob("*.jpg"))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for number in range(args.n_images):
            original = originals[number % len(originals)]
            for kind in ("images", "masks"):
                (folder / kind / "all").mkdir(parents=True, exist_ok=True)
            image, mask = (folder / kind / "all" / f"{number:06}" for kind in ("images", "masks"))
            image.with_suffix(".jpg").write_bytes(original.read_bytes())
            # Upright, as the image is shown.
            size = ImageOps.exif_transpose(Image.open(original)).size
            mask_of(size, number).save(mask.with_suffix(".png"))
        sets = {"image": "images", "mask": "masks"}
        for name, source in sets.items():
            pair = {"pair": {"mask": str(folder / "masks")}} if name == "image" else {}
            fdconvert.pack(folder / source, folder / f"{name}.wds", format="wds", **pair)
        crops = [T.RandomResizedCrop(224), T.RandomHorizontalFlip()]
        options = {"transform": crops, "seed": 1, "threads": 1, "output": "numpy"}
        loaders = {
            "images": fdconvert.Loader(folder / "image.wds", 50, **options),
            "images and masks": fdconvert.Loader(folder / "image.wds", 50, masks=["mask"], **options),
            "masks as images": fdconvert.Loader(folder / "mask.wds", 50, **options),
        }
        costs = {name: [] for name in loaders}
        for round_ in range(args.rounds + 1):
            for name, loader in loaders.items():
                began = time.process_time()
                n = sum(len(batch.samples) for batch in loader.batches())
                # The first round fills buffers and the page cache.
                if round_ > 0:
                    costs[name].append((time.process_time() - began) * 1000 / n)
        print("| loader | CPU-ms a sample | range |\n|---|---|---|")
        for name, found in costs.items():
            print(f"| {name} | {statistics.median(found):.3f} | {min(found):.3f}-{max(found):.3f} |")


if __name__ == "__main__":
    main()
