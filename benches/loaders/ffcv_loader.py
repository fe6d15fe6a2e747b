"""FFCV's Loader on a .beton."""

from importlib.metadata import version

from common import BATCH, SIZE, arguments, run

from ffcv.fields.decoders import CenterCropRGBImageDecoder, IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption

args = arguments(__doc__)
if args.crop == "center":
    decoder = CenterCropRGBImageDecoder((SIZE, SIZE), ratio=SIZE / 256)
else:
    decoder = RandomResizedCropRGBImageDecoder((SIZE, SIZE))
loader = Loader(
    args.data,
    batch_size=BATCH,
    num_workers=args.threads,
    order=OrderOption.RANDOM,
    os_cache=True,
    drop_last=False,
    pipelines={"image": [decoder], "label": [IntDecoder()]},
)


def epoch():
    for batch in loader:
        yield batch[0]


run(f"FFCV {version('ffcv')}", args, epoch)
