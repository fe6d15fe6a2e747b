#!/usr/bin/env python3
"""Lists of transforms on one thread: fdconvert's loader beside torchvision, timm, albumentations,
kornia and DALI.

    python benches/transforms.py IMAGES DATASET --rounds 3 [--only simclr] [--json FILE]

`IMAGES` is a folder of JPEGs, `DATASET` the same packed by `fdconvert pack IMAGES DATASET`. The others
get the bytes of the files from memory and decode them with torchcodec (timm: Pillow, albumentations:
OpenCV), which is to their advantage: they read nothing and stack no batch. All tools of a round stand
next to each other in time. What is measured is the CPU time of the process, all threads together, in
milliseconds an image. Prints Markdown: the median of the rounds, and their range. A tool that is not
installed is left out and named.
"""

import argparse
import io
import json
import statistics
import time
from pathlib import Path

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
GLOBAL, LOCAL = (0.4, 1.0), (0.05, 0.4)
SIMCLR, DINO = (0.8, 0.8, 0.8, 0.2), (0.4, 0.4, 0.2, 0.1)


def ours(dataset, **options):
    import fdconvert

    loader = fdconvert.Loader(dataset, 64, threads=1, output="numpy", ranks=fdconvert.Ranks(0, 1), **options)

    def run():
        return sum(len(batch) for batch in loader.batches())

    return run


def lists():
    from fdconvert import transforms as T

    crop = [T.RandomResizedCrop(224), T.RandomHorizontalFlip()]
    form = [T.Normalize(MEAN, STD), T.ToDtype("f32"), T.ToLayout("nchw")]

    def colours(jitter, blur, solarize, kernel):
        return [
            T.RandomApply([T.ColorJitter(*jitter)], 0.8),
            T.RandomGrayscale(0.2),
            T.RandomApply([T.GaussianBlur(kernel, (0.1, 2.0))], blur),
            T.RandomSolarize(128, solarize),
        ]

    def view(size, scale, changes):
        return [T.RandomResizedCrop(size, scale), T.RandomHorizontalFlip(), *changes, *form]

    # timm's magnitude 9 is of 10, torchvision's of 30.
    noise = T.RandomErasing(0.25, value="random")
    return {
        "rrc, bytes": {"transform": crop},
        "imagenet_train": {"transform": [*crop, *form]},
        "simclr": {"transform": [*crop, *colours(SIMCLR, 0.5, 0.2, 23), *form], "views": 2},
        "dino": {
            "views": {
                "first": (1, view(224, GLOBAL, colours(DINO, 1.0, 0.0, 9))),
                "second": (1, view(224, GLOBAL, colours(DINO, 0.1, 0.2, 9))),
                "local": (8, view(96, LOCAL, colours(DINO, 0.5, 0.0, 9))),
            }
        },
        "dino, without pixel operations": {
            "views": {"global": (2, view(224, GLOBAL, [])), "local": (8, view(96, LOCAL, []))}
        },
        "dino, without pixel operations, bytes": {
            "views": {
                "global": (2, view(224, GLOBAL, [])[:2]),
                "local": (8, view(96, LOCAL, [])[:2]),
            }
        },
        "randaugment and erasing": {"transform": [*crop, T.RandAugment(2, 27), noise, *form]},
        "function": {"transform": [*crop, T.Function(lambda row: row)]},
    }


def on_tensors():
    """torchvision v2 on tensors."""
    import torch
    from torchcodec.decoders import decode_image
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    form = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]

    def colours(jitter, blur, solarize, kernel):
        return [
            v2.RandomApply([v2.ColorJitter(*jitter)], 0.8),
            v2.RandomGrayscale(0.2),
            v2.RandomApply([v2.GaussianBlur(kernel, (0.1, 2.0))], blur),
            v2.RandomSolarize(128, solarize),
        ]

    def view(size, scale, changes):
        crop = v2.RandomResizedCrop(size, scale, antialias=True)
        return v2.Compose([crop, v2.RandomHorizontalFlip(), *changes, *form])

    simclr = view(224, (0.08, 1.0), colours(SIMCLR, 0.5, 0.2, 23))
    train = view(224, (0.08, 1.0), [])
    dino = [
        (1, view(224, GLOBAL, colours(DINO, 1.0, 0.0, 9))),
        (1, view(224, GLOBAL, colours(DINO, 0.1, 0.2, 9))),
        (8, view(96, LOCAL, colours(DINO, 0.5, 0.0, 9))),
    ]
    plain = [(2, view(224, GLOBAL, [])), (8, view(96, LOCAL, []))]
    return {
        "imagenet_train": per_image([(1, train)], lambda data: decode_image(data, mode="RGB")),
        "simclr": per_image([(2, simclr)], lambda data: decode_image(data, mode="RGB")),
        "dino": per_image(dino, lambda data: decode_image(data, mode="RGB")),
        "dino, without pixel operations": per_image(plain, lambda data: decode_image(data, mode="RGB")),
    }


def of_timm():
    from PIL import Image
    from timm.data import create_transform

    list_ = create_transform(
        224, is_training=True, auto_augment="rand-m9-n2-mstd0", re_prob=0.25, re_mode="pixel", color_jitter=None
    )

    def decode(data):
        return Image.open(io.BytesIO(data)).convert("RGB")

    return {"randaugment and erasing": per_image([(1, list_)], decode)}


def of_albumentations():
    import albumentations as A
    import cv2
    import numpy
    from albumentations.pytorch import ToTensorV2

    cv2.setNumThreads(0)
    list_ = A.Compose([
        A.RandomResizedCrop((224, 224)),
        A.HorizontalFlip(),
        A.ColorJitter((0.2, 1.8), (0.2, 1.8), (0.2, 1.8), (-0.2, 0.2), p=0.8),
        A.ToGray(p=0.2),
        A.GaussianBlur(blur_limit=(23, 23), sigma_limit=(0.1, 2.0), p=0.5),
        A.Solarize(p=0.2),
        A.Normalize(MEAN, STD),
        ToTensorV2(),
    ])

    def decode(data):
        return cv2.cvtColor(cv2.imdecode(numpy.frombuffer(data, numpy.uint8), 1), cv2.COLOR_BGR2RGB)

    return {"simclr": per_image([(2, lambda image: list_(image=image)["image"])], decode)}


def of_kornia():
    import kornia.augmentation as K
    import torch
    from torchcodec.decoders import decode_image

    torch.set_num_threads(1)
    list_ = K.AugmentationSequential(
        K.RandomResizedCrop((224, 224)),
        K.RandomHorizontalFlip(),
        K.ColorJitter(0.8, 0.8, 0.8, 0.2, p=0.8),
        K.RandomGrayscale(p=0.2),
        K.RandomGaussianBlur((23, 23), (0.1, 2.0), p=0.5),
        K.RandomSolarize(p=0.2),
        K.Normalize(MEAN, STD),
    )

    def decode(data):
        return decode_image(data, mode="RGB").unsqueeze(0).float() / 255

    return {"simclr": per_image([(2, list_)], decode)}


def of_dali():
    import numpy
    from nvidia import dali
    from nvidia.dali import fn, types

    batch = 50

    # Else it asks for batches ahead.
    one = {"prefetch_queue_depth": 1, "exec_async": False, "exec_pipelined": False}

    @dali.pipeline_def(batch_size=batch, num_threads=1, device_id=None, **one)
    def pipeline():
        encoded = fn.external_source(name="files", dtype=types.UINT8)
        image = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
        views = []
        for number, size, scale in [(2, 224, GLOBAL), (8, 96, LOCAL)]:
            for _ in range(number):
                view = fn.random_resized_crop(image, size=(size, size), random_area=scale)
                mirror = fn.random.coin_flip()
                mean, std = [255 * it for it in MEAN], [255 * it for it in STD]
                views.append(fn.crop_mirror_normalize(view, mirror=mirror, mean=mean, std=std))
        return tuple(views)

    pipe = pipeline()
    pipe.build()

    def run(files):
        for begin in range(0, len(files) - batch + 1, batch):
            arrays = [numpy.frombuffer(data, numpy.uint8) for data in files[begin : begin + batch]]
            pipe.feed_input("files", arrays)
            pipe.run()
        return len(files) // batch * batch

    return {"dino, without pixel operations": run}


def per_image(views, decode):
    def run(files):
        for data in files:
            image = decode(data)
            for number, list_ in views:
                for _ in range(number):
                    list_(image)
        return len(files)

    return run


PEERS = {
    "torchvision": on_tensors,
    "timm": of_timm,
    "albumentations": of_albumentations,
    "kornia": of_kornia,
    "DALI": of_dali,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=Path)
    parser.add_argument("dataset")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images-of-peers", type=int, default=100, help="peers are slow: so many a round")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    files = [path.read_bytes() for path in sorted(options.images.rglob("*.[jJ]*"))][: options.images_of_peers]
    runs = {}
    for name, arguments in lists().items():
        runs[name, "fdconvert"] = ours(options.dataset, **arguments)
    for tool, make in PEERS.items():
        try:
            for name, run in make().items():
                runs[name, tool] = lambda run=run: run(files)
        except ImportError as error:
            print(f"{tool} is left out: {error}")
    if options.only:
        runs = {key: run for key, run in runs.items() if key[0] in options.only}
    for run in runs.values():
        run()
    times = {key: [] for key in runs}
    for _ in range(options.rounds):
        for key, run in runs.items():
            began = time.process_time()
            n_images = run()
            times[key].append((time.process_time() - began) / n_images * 1e3)
    print("| list | tool | CPU-ms an image | range | times ours |\n|---|---|---|---|---|")
    for (name, tool), found in times.items():
        median = statistics.median(found)
        share = median / statistics.median(times[name, "fdconvert"])
        print(f"| {name} | {tool} | {median:.2f} | {min(found):.2f}-{max(found):.2f} | {share:.2f} |")
    if options.json:
        options.json.write_text(json.dumps([[*key, found] for key, found in times.items()], indent=1))


if __name__ == "__main__":
    main()
