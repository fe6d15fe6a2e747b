"""webdataset with its WebLoader, from tar shards; decoding by torchvision."""

from importlib.metadata import version
from pathlib import Path

import torch
import webdataset
from common import BATCH, arguments, run
from tensors import Decode

args = arguments(__doc__)
shards = [str(path) for path in sorted(Path(args.data).rglob("*.tar"))]
decode = Decode(args.crop)


def tensor(sample):
    return decode(sample["jpg"] if "jpg" in sample else sample["jpeg"])


dataset = webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False)
dataset = dataset.shuffle(1000).map(tensor)
dataset = dataset.batched(BATCH, collation_fn=torch.stack, partial=True)
loader = webdataset.WebLoader(
    dataset, batch_size=None, num_workers=args.threads, persistent_workers=True
)
run(f"webdataset {version('webdataset')}, torchvision", args, lambda: iter(loader))
