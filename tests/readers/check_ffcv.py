#!/usr/bin/env python3
"""Lets FFCV read betons that hold the same samples: `check_ffcv.py FIRST OTHERS...`.

Its own loader decodes every image, from the system's cache and by its own of pages, in order, at
random, and page by page; pixels and labels have to be those of FIRST, which is compared with its
rows and allocation table as FFCV reads them. Prints one line for each beton; fails at the first
difference. Needs ffcv 1.0.2, which is built from source: `formats/beton/SPEC.md` has the versions.
"""
import hashlib
import sys

import numpy
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import CenterCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.reader import Reader

SIDE = 64


def samples(path, os_cache, order):
    """Label and hash of the pixels of every sample, sorted: page by page has an order of its own."""
    pipelines = {"image": [CenterCropRGBImageDecoder((SIDE, SIDE), ratio=1)], "label": [IntDecoder()]}
    n_samples = int(Reader(path).num_samples)
    loader = Loader(path, batch_size=min(16, n_samples), num_workers=1, os_cache=os_cache, order=order,
                    seed=3, drop_last=False, pipelines=pipelines)
    found = []
    for images, labels in loader:
        for image, label in zip(numpy.asarray(images), numpy.asarray(labels)):
            found.append((int(label[0]), hashlib.sha256(image.tobytes()).hexdigest()))
    return sorted(found)


def stored(path):
    """What FFCV finds of each sample: size, mode, and its bytes by the allocation table."""
    reader = Reader(path)
    lengths = {int(pointer): int(size) for _, pointer, size in reader.alloc_table}
    with open(path, "rb") as file:
        data = file.read()
    found = []
    for image, label in zip(reader.metadata["f0"], reader.metadata["f1"]):
        pointer = int(image["data_ptr"])
        values = data[pointer:pointer + lengths[pointer]]
        shape = [int(image[name]) for name in ("mode", "width", "height")]
        found.append((shape, int(label), hashlib.sha256(values).hexdigest()))
    return found


first, others = sys.argv[1], sys.argv[2:]
truth, ways = stored(first), [
    (os_cache, order)
    for os_cache in (True, False)
    for order in (OrderOption.SEQUENTIAL, OrderOption.RANDOM, OrderOption.QUASI_RANDOM)
    # Page by page needs the pages.
    if not (os_cache and order == OrderOption.QUASI_RANDOM)
]
expected = samples(first, True, OrderOption.SEQUENTIAL)
for path in [first, *others]:
    assert stored(path) == truth, f"{path}: rows or bytes differ"
    for os_cache, order in ways:
        found = samples(path, os_cache, order)
        assert found == expected, f"{path}: other pixels, os_cache={os_cache}, {order}"
    aligned = sum(int(image["data_ptr"]) % 4096 == 0 for image in Reader(path).metadata["f0"])
    print(f"{path}: {len(truth)} samples by FFCV, as expected; {aligned} at multiples of 4096")
