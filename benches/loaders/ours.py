"""fdconvert.Loader, from any dataset that it opens."""

import os

from common import BATCH, MEAN, SIZE, STD, arguments, run

import fdconvert

args = arguments(__doc__)
floats = {"dtype": "f32", "layout": "nchw", "mean": MEAN, "std": STD} if args.floats else {}
loader = fdconvert.Loader(
    args.data,
    batch_size=BATCH,
    size=SIZE,
    crop=args.crop,
    flip=0.0,
    threads=args.threads,
    output="numpy",
    **floats,
)


def epoch():
    for images, _labels in loader:
        yield images


kind = "files" if os.path.isdir(args.data) else "beton"
run(f"fdconvert {fdconvert.__version__}, {kind}", args, epoch)
