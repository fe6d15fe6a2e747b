"""SPDL on files: FFmpeg decodes, crops and resizes whole batches in its threads."""

import random
from importlib.metadata import version

import spdl.io
from common import BATCH, SIZE, arguments, jpegs, run
from geometry import random_crop
from spdl.pipeline import PipelineBuilder

args = arguments(__doc__)
paths = jpegs(args.data)
CENTER = f"scale=w=256:h=256:force_original_aspect_ratio=increase:flags=bilinear,crop={SIZE}:{SIZE}"


def frames(path):
    packets = spdl.io.demux_image(path)
    if args.crop == "center":
        how = CENTER
    else:
        x, y, width, height = map(int, random_crop(packets.codec.width, packets.codec.height))
        how = f"crop={width}:{height}:{x}:{y}:exact=1,scale=w={SIZE}:h={SIZE}:flags=bilinear"
    return spdl.io.decode_packets(packets, filter_desc=f"{how},format=pix_fmts=rgb24")


# Its pipeline would only log why it has nothing: the libraries of FFmpeg are not a part of it.
frames(paths[0])


def batch_of(paths):
    return spdl.io.to_numpy(spdl.io.convert_frames([frames(path) for path in paths]))


def epoch():
    source = random.sample(paths, len(paths))
    builder = PipelineBuilder().add_source(source).aggregate(BATCH)
    pipeline = builder.pipe(batch_of, concurrency=args.threads).add_sink(2)
    pipeline = pipeline.build(num_threads=args.threads)
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


run(f"SPDL {version('spdl')}, files", args, epoch)
