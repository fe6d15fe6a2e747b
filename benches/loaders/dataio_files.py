"""dataio-rs on files: uint8, bilinear as the others."""

import os

from common import BATCH, SIZE, arguments, jpegs, run

args = arguments(__doc__)
os.environ["DATAIO_CPU_WORKERS"] = str(args.threads)

from importlib.metadata import version  # noqa: E402

import dataio  # noqa: E402

paths = jpegs(args.data)
image = dataio.slot("image").decode_image(mode="rgb")
if args.crop == "center":
    image = image.resize_short(256, interp="bilinear").center_crop(h=SIZE, w=SIZE)
else:
    image = image.random_resized_crop(h=SIZE, w=SIZE, interp="bilinear")
pipe = dataio.pipeline(image, dataio.batch(BATCH, prefetch=2))
number = 0


def epoch():
    global number
    number += 1
    records = dataio.records([{"key": path, "image": path} for path in paths]).shuffle(seed=number)
    with pipe.bind(records).run("numpy", seed=number) as loader:
        for batch in loader:
            yield batch["image"]


run(f"dataio-rs {version('dataio-rs')}, files", args, epoch)
