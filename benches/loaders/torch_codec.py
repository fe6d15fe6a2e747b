"""torch DataLoader with worker processes: torchcodec, the successor of torchvision's decoders."""

from importlib.metadata import version

import torch
from common import BATCH, arguments, jpegs, run
from tensors import Decode

args = arguments(__doc__)
paths = jpegs(args.data)
decode = Decode(args.crop, "torchcodec")


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return len(paths)

    def __getitem__(self, index):
        with open(paths[index], "rb") as file:
            return decode(file.read())


loader = torch.utils.data.DataLoader(
    Images(), batch_size=BATCH, shuffle=True, num_workers=args.threads, persistent_workers=True
)
run(f"torch {torch.__version__}, torchcodec {version('torchcodec')}", args, lambda: iter(loader))
