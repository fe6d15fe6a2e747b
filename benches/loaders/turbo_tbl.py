"""turboloader's TBL-RAW: pixels of one size, mapped. Its batches are floats."""

from common import BATCH, SIZE, arguments, run

import turboloader

args = arguments(__doc__)
loader = turboloader.TblRawImageLoader(
    args.data,
    batch_size=BATCH,
    image_size=SIZE,
    train_aug=args.crop == "rrc",
)
number = 0


def epoch():
    global number
    loader.set_epoch(number)
    number += 1
    for images, _meta in loader:
        yield images


run(f"turboloader {turboloader.__version__}, TBL-RAW, floats", args, epoch)
