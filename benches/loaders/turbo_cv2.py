"""Plain Python threads: libjpeg-turbo decodes, by its fast and less accurate ways, OpenCV resizes
into the batch.
"""

import random
from concurrent.futures import ThreadPoolExecutor

from common import BATCH, SIZE, arguments, jpegs, run
from geometry import center, random_crop

import cv2
import numpy
import simplejpeg

args = arguments(__doc__)
cv2.setNumThreads(0)
paths = jpegs(args.data)


def load(batch, row, path):
    with open(path, "rb") as file:
        image = simplejpeg.decode_jpeg(file.read(), colorspace="RGB", fastdct=True, fastupsample=True)
    height, width = image.shape[:2]
    x, y, w, h = (center if args.crop == "center" else random_crop)(width, height)
    x, y, w, h = int(x), int(y), max(1, int(w)), max(1, int(h))
    how = cv2.INTER_AREA if h >= SIZE else cv2.INTER_LINEAR
    cv2.resize(image[y : y + h, x : x + w], (SIZE, SIZE), dst=batch[row], interpolation=how)


def epoch():
    order = random.sample(paths, len(paths))
    with ThreadPoolExecutor(args.threads) as pool:
        for start in range(0, len(order), BATCH):
            chunk = order[start : start + BATCH]
            batch = numpy.empty((len(chunk), SIZE, SIZE, 3), numpy.uint8)
            list(pool.map(lambda item: load(batch, *item), enumerate(chunk)))
            yield batch


run(f"threads, simplejpeg {simplejpeg.__version__}, OpenCV {cv2.__version__}", args, epoch)
