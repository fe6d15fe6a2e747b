"""Compares `fdconvert stats --pixels` with torchvision's tensors of the same images.

usage: python check_stats.py FDCONVERT IMAGES

IMAGES is a folder of images in class folders. Mean and standard deviation of each channel over all
pixels, of torchvision's `ToTensor` with sums in double precision, must differ by at most 1e-6.
Needs torch, torchvision and Pillow.
"""

import json
import subprocess
import sys

import torch
from torchvision import datasets, transforms

fdconvert, folder = sys.argv[1:]
report = subprocess.run(
    [fdconvert, "stats", folder, "--pixels", "--json"], check=True, stdout=subprocess.PIPE
)
ours = json.loads(report.stdout)["pixels"]

images = datasets.ImageFolder(folder, transforms.ToTensor())
count, total, squares = 0, torch.zeros(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
for image, _ in images:
    levels = image.double().flatten(1)
    count += levels.shape[1]
    total += levels.sum(1)
    squares += (levels * levels).sum(1)
mean = total / count
theirs = {"mean": mean, "std": (squares / count - mean * mean).sqrt()}

worst = 0.0
for name, values in theirs.items():
    print(f"{name}: fdconvert {ours[name]}, torchvision {values.tolist()}")
    worst = max(worst, *(abs(a - b) for a, b in zip(ours[name], values.tolist(), strict=True)))
print(f"{len(images)} images, {count} pixels: differ by at most {worst:.2e}")
assert worst <= 1e-6
