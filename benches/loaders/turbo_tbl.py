"""turboloader's TBL-RAW: pixels of one size, mapped. Its batches are floats.

    turbo_tbl.py --pack TAR OUT.tbl

writes them, of 256 x 256 pixels, from a tar of JPEGs.
"""

import sys

from common import BATCH, SIZE, arguments, run

import turboloader

if sys.argv[1] == "--pack":
    turboloader.preprocess_to_tbl(*sys.argv[2:4], image_size=256, num_workers=1)
    sys.exit()
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
