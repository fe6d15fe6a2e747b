"""Crops for those who crop themselves."""

import math
import random

from common import SIZE


def center(width, height):
    side = min(width, height) * SIZE / 256
    return (width - side) / 2, (height - side) / 2, side, side


def random_crop(width, height):
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    return center(width, height)
