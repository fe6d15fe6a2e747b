"""torch DataLoader with worker processes, decoding and resizing by torchvision on tensors."""

from common import BATCH, SIZE, arguments, jpegs, run

import torch
import torchvision
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

args = arguments(__doc__)
torch.set_num_threads(1)
paths = jpegs(args.data)
if args.crop == "center":
    transform = v2.Compose([v2.Resize(256, antialias=True), v2.CenterCrop(SIZE)])
else:
    transform = v2.RandomResizedCrop(SIZE, antialias=True)


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return len(paths)

    def __getitem__(self, index):
        return transform(decode_jpeg(read_file(paths[index]), mode=ImageReadMode.RGB))


loader = torch.utils.data.DataLoader(
    Images(), batch_size=BATCH, shuffle=True, num_workers=args.threads, persistent_workers=True
)
run(f"torch {torch.__version__}, torchvision {torchvision.__version__}", args, lambda: iter(loader))
