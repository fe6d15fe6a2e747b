"""turboloader on a tar of JPEGs, as its documentation begins. Its batches are floats.

Without `antialias` its `center` is the square of the short side at once, with the nearest pixels; it
is on here, as the others have it.
"""

from common import BATCH, SIZE, arguments, run

import turboloader

args = arguments(__doc__)
loader = turboloader.DataLoader(
    args.data,
    batch_size=BATCH,
    image_size=SIZE,
    output_format="pytorch",
    transform=turboloader.ImageNetNormalize(),
    shuffle=True,
    num_workers=args.threads,
    **({"train_aug": True} if args.crop == "rrc" else {"antialias": True}),
)


def epoch():
    for images, _meta in loader:
        yield images


run(f"turboloader {turboloader.__version__}, tar, floats", args, epoch)
