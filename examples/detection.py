"""Trains torchvision's FasterRCNN for ten steps on photos of their own sizes.

    pip install . numpy torch torchvision
    python examples/detection.py                              # made-up boxes in the sample photos
    python examples/detection.py coco.beton                   # a dataset that has `objects`

The photos are resized as torchvision's references do, with a short side of 160 pixels for speed, and come as
a list of tensors; their boxes follow, and are targets as torchvision wants them.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

import fdconvert
from fdconvert import transforms as T

PHOTOS = Path(__file__).parents[1] / "tests" / "fixtures" / "kodak"
CATEGORIES = ["one", "two"]


def sample_dataset(folder: Path) -> Path:
    """Pack the sample photos with boxes drawn at random, as a file of COCO has them."""
    draw = random.Random(7)
    categories = [{"id": number, "name": name} for number, name in enumerate(CATEGORIES, 1)]
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, photo in enumerate(sorted(PHOTOS.glob("*.png"))):
        width, height = Image.open(photo).size
        images.append({"id": number, "file_name": photo.name, "width": width, "height": height})
        for _ in range(3):
            left, top = draw.randrange(width // 2), draw.randrange(height // 2)
            box = [left, top, draw.randrange(20, width // 2), draw.randrange(20, height // 2)]
            entry = {"id": len(annotations) + 1, "image_id": number, "category_id": draw.choice([1, 2])}
            annotations.append(entry | {"bbox": box, "area": box[2] * box[3], "iscrowd": 0})
    document = {"images": images, "categories": categories, "annotations": annotations}
    (folder / "instances.json").write_text(json.dumps(document))
    fdconvert.pack(PHOTOS, folder / "coco.beton", labels=folder / "instances.json", jpeg_quality=90)
    return folder / "coco.beton"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", type=Path)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = args.dataset or sample_dataset(Path(folder))
        torch.manual_seed(0)
        loader = fdconvert.Loader(
            path,
            batch_size=2,
            seed=7,
            sizes="own",
            transform=[
                T.RandomHorizontalFlip(),
                T.Resize(160, max_size=266),
                T.ToDtype("f32"),
                T.ToLayout("nchw"),
            ],
            label=None,
            objects="objects",
        )
        model = fasterrcnn_mobilenet_v3_large_320_fpn(
            weights=None, weights_backbone=None, num_classes=91, min_size=160
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
        step = 0
        while step < args.steps:
            for images, _, fields in loader:
                losses = model(images, fields["objects"].to_torchvision())
                loss = sum(losses.values())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                shapes = ", ".join(f"{image.shape[2]}x{image.shape[1]}" for image in images)
                print(f"step {step}: loss {loss.detach().item():.3f} of images of {shapes}")
                if step == args.steps:
                    break


if __name__ == "__main__":
    main()
