"""Prints the boxes of torchvision's CutMix that `mix.rs` pins.

Not run by `cargo test`: it needs Python with torch and torchvision, says so and ends well without
them, and was last run with torch 2.15.0 and torchvision 0.29.2.

    python crates/loader/tests/mixing.py

What is done with share and box is compared with torchvision by `test_loader_mix.py` of the Python
package.
"""

import random
import sys
from unittest import mock

# The folder of this file, where `import torchvision` would find another one.
sys.path.pop(0)

try:
    import torch
    from torchvision.transforms import v2
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)


def main():
    generator = random.Random(5)
    print(f"// torch {torch.__version__}")
    for _ in range(40):
        width, height = generator.choice([(224, 224), (32, 32), (19, 13), (7, 300), (1, 1)])
        share = generator.choice([0.0, 1.0, *(generator.random() for _ in range(6))])
        middle = [generator.randrange(width), generator.randrange(height)]
        cutmix = v2.CutMix(num_classes=2)
        cutmix._dist = mock.Mock(sample=lambda _, share=share: share)
        draws = iter(middle)
        with mock.patch.object(torch, "randint", lambda *_, **__: torch.tensor([next(draws)])):
            params = cutmix.make_params([torch.zeros(1, 3, height, width)])
        x1, y1, x2, y2 = params["box"]
        box = [x1, y1, x2 - x1, y2 - y1]
        kept = params["lam_adjusted"]
        print(f"    ({share!r}, {tuple(middle)}, {(width, height)}, {box}, {kept!r}),")


main()
