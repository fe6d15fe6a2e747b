"""fdconvert.Loader, from any dataset that it opens."""

import os

from common import BATCH, MEAN, SIZE, STD, arguments, run

import fdconvert
from fdconvert import transforms as T

args = arguments(__doc__)
crop = [T.RandomResizedCrop(SIZE)] if args.crop == "rrc" else [T.Resize(256), T.CenterCrop(SIZE)]
floats = [T.Normalize(MEAN, STD), T.ToLayout("nchw")] if args.floats else []
loader = fdconvert.Loader(
    args.data,
    batch_size=BATCH,
    transform=crop + floats,
    threads=args.threads,
    output="numpy",
)


def epoch():
    for images, _labels in loader:
        yield images


kind = "files" if os.path.isdir(args.data) else "beton"
run(f"fdconvert {fdconvert.__version__}, {kind}", args, epoch)
