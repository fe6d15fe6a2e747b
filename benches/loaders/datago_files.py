"""datago on files: the short side to 224 at once, by Lanczos. It has no random resized crop."""

import json
import os
import sys
from importlib.metadata import version

import numpy
from common import BATCH, SIZE, arguments, jpegs, run

args = arguments(__doc__)
if args.crop != "center":
    sys.exit("datago has no random resized crop")
os.environ["DATAGO_MAX_TASKS"] = str(args.threads)

import datago  # noqa: E402

n_images = len(jpegs(args.data))
config = {
    "source_type": "file",
    "source_config": {"root_path": args.data, "random_sampling": True, "rank": 0, "world_size": 1},
    "image_config": {
        "crop_and_resize": True,
        "default_image_size": SIZE,
        "downsampling_ratio": 32,
        "min_aspect_ratio": 1.0,
        "max_aspect_ratio": 1.0,
        "pre_encode_images": False,
        "image_to_rgb8": True,
    },
    "limit": n_images,
    "samples_buffer_size": BATCH,
}


def epoch():
    client = datago.DatagoClient(json.dumps(config))
    client.start()
    seen = 0
    while seen < n_images:
        n_rows = min(BATCH, n_images - seen)
        batch = numpy.empty((n_rows, SIZE, SIZE, 3), numpy.uint8)
        for row in range(n_rows):
            sample = client.get_sample()
            if sample is None:
                sys.exit(f"datago gave {seen + row} of {n_images} samples")
            batch[row] = sample.image.to_numpy_array()
        seen += n_rows
        yield batch
    client.stop()


run(f"datago {version('datago')}, files", args, epoch)
