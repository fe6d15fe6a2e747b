import time

import torch
import torchvision
from torch.utils.data import DataLoader, Subset
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.datasets.folder import default_loader


def main():
    args = arguments()
    if args.probe:
        probed(f"{torch.__version__}, torchvision {torchvision.__version__}")
        return
    torch.set_num_threads(1)
    steps = [transforms.Resize((args.size, args.size), antialias=True)]
    steps += [transforms.AutoAugment()] if args.autoaugment else []
    steps += [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]

    def load(path):
        time.sleep(args.latency)
        return default_loader(path)

    dataset = ImageFolder(args.data, transform=transforms.Compose(steps), loader=load)
    if args.latency:
        dataset = Subset(dataset, range(args.images))
    loader = DataLoader(dataset, batch_size=args.batch, shuffle=True, num_workers=args.workers)
    measure(lambda: (len(labels) for _, labels in loader), warm_up=not args.latency)


main()
