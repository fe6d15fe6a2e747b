"""LitData from chunks on the disk; decoding by torchvision.

    litdata_chunks.py --pack IMAGES CHUNKS

writes them, with the bytes of the images as they are.
"""

import sys
from importlib.metadata import version

import litdata
from common import BATCH, arguments, jpegs, run
from tensors import Decode


def stored(path):
    with open(path, "rb") as file:
        return {"image": file.read()}


class Images(litdata.StreamingDataset):
    def __init__(self, decode, *args, **options):
        super().__init__(*args, **options)
        self.decode = decode

    def __getitem__(self, index):
        return self.decode(super().__getitem__(index)["image"])


def main():
    if sys.argv[1] == "--pack":
        litdata.optimize(stored, jpegs(sys.argv[2]), sys.argv[3], chunk_bytes="64MB", num_workers=1)
        return
    args = arguments(__doc__)
    dataset = Images(Decode(args.crop), args.data, shuffle=True)
    loader = litdata.StreamingDataLoader(
        dataset, batch_size=BATCH, num_workers=args.threads, persistent_workers=True
    )
    run(f"LitData {version('litdata')}, torchvision", args, lambda: iter(loader))


if __name__ == "__main__":
    main()
