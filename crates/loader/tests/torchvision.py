"""Prints the crops of torchvision that the tests of `src/transform/geometry.rs` pin.

Not run by `cargo test`: it needs Python with torch and torchvision, and was last run with torch
2.15.0 and torchvision 0.29.2.

    python crates/loader/tests/torchvision.py       # geometry/pinned.rs, on stdout

What lists of transforms make of pixels is compared with torchvision by `test_transforms.py` of the
Python package.
"""

import random
import sys
from unittest import mock

# The folder of this file, where `import torchvision` would find this file.
sys.path.pop(0)

import torch
from torchvision.transforms import RandomResizedCrop, functional


def main():
    generator = random.Random(3)
    print("//! Printed by `tests/torchvision.py`.\n")
    print("type Center = (u32, [u32; 2], [u32; 2], [u32; 2], [u32; 2]);")
    print("type Random = ([u32; 2], [f64; 2], [f64; 2], &'static [f64], [u32; 4]);\n")
    print("/// Short side, output size, source size, then size after the resize, and left and top.")
    print("pub(super) const CENTER: &[Center] = &[")
    n_rows = 0
    while n_rows < 60:
        resize = generator.choice((32, 97, 224, 232, 256, 384, 513))
        crop = generator.choice(((224, 224), (32, 32), (200, 97), (96, 160), (31, 30)))
        source = (generator.randint(1, 900), generator.randint(1, 900))
        height, width = functional._compute_resized_output_size((source[1], source[0]), [resize])
        if width < crop[0] or height < crop[1]:
            continue
        image = torch.empty(1, height, width)
        with mock.patch.object(functional, "crop", lambda image, top, left, *_: (left, top)):
            left, top = functional.center_crop(image, [crop[1], crop[0]])
        print(f"    ({resize}, {list(crop)}, {list(source)}, {[width, height]}, {[left, top]}),")
        n_rows += 1
    print("];\n")
    print("/// Source size, scale, ratio, the draws (of an integer below n: the integer), then left,")
    print("/// top, width and height.")
    print("pub(super) const RANDOM: &[Random] = &[")
    for _ in range(60):
        source = (generator.randint(1, 900), generator.randint(1, 900))
        scale = generator.choice(((0.08, 1.0), (0.08, 1.0), (0.9, 1.0), (0.001, 0.01)))
        ratio = generator.choice(((3 / 4, 4 / 3), (3 / 4, 4 / 3), (0.5, 0.5), (2.0, 3.0), (0.1, 9.0)))
        draws = []

        def uniform(tensor, low, high):
            unit = generator.randrange(1 << 20) / (1 << 20)
            draws.append(unit)
            return tensor.fill_(float(low) + (float(high) - float(low)) * unit)

        def integer(low, high, size):
            draws.append(generator.randrange(low, high))
            return torch.tensor([draws[-1]])

        image = torch.empty(1, source[1], source[0])
        with mock.patch.object(torch.Tensor, "uniform_", uniform), mock.patch.object(torch, "randint", integer):
            top, left, height, width = RandomResizedCrop.get_params(image, list(scale), list(ratio))
        if width == 0 or height == 0:
            continue
        numbers = ", ".join(repr(float(draw)) for draw in draws)
        print(f"    ({list(source)}, {list(scale)}, {list(ratio)}, &[{numbers}], {[left, top, width, height]}),")
    print("];")


main()
