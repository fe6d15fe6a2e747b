"""MosaicML Streaming from MDS shards on the disk; decoding by torchvision.

    mds_stream.py --pack IMAGES OUT

writes them, with the bytes of the images as they are.
"""

import sys
from importlib.metadata import version

import streaming
from common import BATCH, arguments, jpegs, run
from tensors import Decode
from torch.utils.data import DataLoader

if sys.argv[1] == "--pack":
    with streaming.MDSWriter(out=sys.argv[3], columns={"image": "bytes"}) as writer:
        for path in jpegs(sys.argv[2]):
            with open(path, "rb") as file:
                writer.write({"image": file.read()})
    sys.exit()

args = arguments(__doc__)
decode = Decode(args.crop)


class Images(streaming.StreamingDataset):
    def __getitem__(self, index):
        return decode(super().__getitem__(index)["image"])


# With two workers version 0.13 reads shards that are not whole yet, in most runs.
dataset = Images(local=args.data, shuffle=True, batch_size=BATCH)
loader = DataLoader(dataset, batch_size=BATCH, num_workers=args.threads, persistent_workers=True)
run(f"MosaicML Streaming {version('mosaicml-streaming')}, torchvision", args, lambda: iter(loader))
