"""NVIDIA DALI on the CPU, with its decoder for regions."""

from common import BATCH, SIZE, arguments, jpegs, run

import nvidia.dali as dali
from nvidia.dali import fn, types

args = arguments(__doc__)
paths = jpegs(args.data)


@dali.pipeline_def(batch_size=BATCH, num_threads=args.threads, device_id=None)
def pipeline():
    encoded, _ = fn.readers.file(files=paths, random_shuffle=True, name="images", pad_last_batch=False)
    if args.crop == "center":
        images = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
        images = fn.resize(images, resize_shorter=256, interp_type=types.INTERP_LINEAR, antialias=True)
        return fn.crop(images, crop=(SIZE, SIZE))
    images = fn.decoders.image_random_crop(
        encoded, device="cpu", output_type=types.RGB, random_area=(0.08, 1.0), random_aspect_ratio=(3 / 4, 4 / 3)
    )
    return fn.resize(images, size=(SIZE, SIZE), interp_type=types.INTERP_LINEAR, antialias=True)


pipe = pipeline()
pipe.build()


def epoch():
    for _ in range(len(paths) // BATCH):
        (images,) = pipe.run()
        yield images.as_array()


run(f"DALI {dali.__version__}", args, epoch)
