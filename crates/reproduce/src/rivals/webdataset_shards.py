import glob
import io
import os

import torch
import webdataset
from PIL import Image
from torchvision import transforms


def main():
    args = arguments()
    if args.probe:
        probed(webdataset.__version__)
        return
    torch.set_num_threads(1)
    steps = [transforms.Resize((args.size, args.size), antialias=True)]
    steps += [transforms.AutoAugment()] if args.autoaugment else []
    steps += [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    transform = transforms.Compose(steps)

    def decode(sample):
        image = Image.open(io.BytesIO(sample["png"])).convert("RGB")
        return transform(image), int(sample["cls"])

    shards = sorted(glob.glob(os.path.join(args.data, "*.tar")))
    dataset = webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False)
    dataset = dataset.shuffle(1000).map(decode).batched(args.batch, partial=True)
    loader = webdataset.WebLoader(dataset, batch_size=None, num_workers=args.workers)
    measure(lambda: (len(labels) for _, labels in loader))


main()
