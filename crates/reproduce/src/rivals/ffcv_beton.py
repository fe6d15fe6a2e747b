from importlib.metadata import version

import numpy
import torch
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import CenterCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, ToTensor, ToTorchImage


def main():
    args = arguments()
    if args.probe:
        probed(version("ffcv"))
        return
    if args.autoaugment:
        raise SystemExit("FFCV has no AutoAugment")
    scale = lambda values: numpy.array(values) * 255
    image = [
        CenterCropRGBImageDecoder((args.size, args.size), ratio=1),
        NormalizeImage(scale(MEAN), scale(STD), numpy.float32),
        ToTensor(),
        ToTorchImage(),
    ]
    loader = Loader(
        args.data,
        batch_size=args.batch,
        num_workers=args.workers,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=False,
        pipelines={"image": image, "label": [IntDecoder(), ToTensor()]},
    )
    measure(lambda: (len(batch[0]) for batch in loader))


main()
