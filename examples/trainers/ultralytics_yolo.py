"""Trains YOLO by Ultralytics' trainer; a killed run begins its epoch again, with the same batches.

    pip install . numpy torch==2.15.0 torchvision==0.29.2 ultralytics==8.4.190
    fdconvert sample photos
    python examples/trainers/ultralytics_yolo.py --stop-after 4             # killed in the second epoch
    python examples/trainers/ultralytics_yolo.py                            # resumes from the end of the first

Ultralytics saves at the end of an epoch, and not all: what it resumes is the average of the weights, rounded
to half precision, so that losses are others after it. Without `data.yaml` the program draws boxes in the photos.
"""

import argparse
import os
import random
import shutil
import signal
import zlib
from pathlib import Path
from typing import Any

from ultralytics import YOLO

import fdconvert as fd
from fdconvert.ultralytics import DetectionTrainer

RUNS = Path("runs").absolute()
LAST = RUNS / "yolo/weights/last.pt"


def make_data(photos: Path, data: Path) -> None:
    """Pack photos with boxes drawn at random, as labels of YOLO, and write the file that names the dataset."""
    draw = random.Random(7)
    for folder in ("images", "labels"):
        Path("yolo", folder, "train").mkdir(parents=True)
    for photo in sorted(photos.glob("*/*.jpg")):
        boxes = [(draw.randrange(2), *(draw.uniform(0.3, 0.6) for _ in range(4))) for _ in range(3)]
        shutil.copy(photo, "yolo/images/train")
        text = "".join("{} {:.4f} {:.4f} {:.4f} {:.4f}\n".format(*box) for box in boxes)
        Path("yolo/labels/train", photo.stem).with_suffix(".txt").write_text(text)
    Path("yolo/data.yaml").write_text("train: images/train\nval: images/train\nnames: [one, two]\n")
    fd.pack("yolo", "boxes.beton")
    data.write_text("train: boxes.beton\nval: boxes.beton\nnames: [one, two]\n")


class Trainer(DetectionTrainer):
    """Prints what each batch is, and kills the run after a step."""

    stop_after: int | None = None
    step = 0

    def preprocess_batch(self, batch: dict[str, Any]) -> dict[str, Any]:
        self.step = self.step or self.epoch * len(self.train_loader)
        if self.step == self.stop_after:
            os.kill(os.getpid(), signal.SIGKILL)
        self.step += 1
        images, boxes = (zlib.crc32(batch[name].numpy()) for name in ("img", "bboxes"))
        print(f"epoch {self.epoch} step {self.step}: images {images:08x}, boxes {boxes:08x}", flush=True)
        return super().preprocess_batch(batch)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("photos", nargs="?", type=Path, default="photos", help="class folders of photos")
    parser.add_argument("--data", type=Path, default="data.yaml", help="made of the photos if it is not there")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()
    if not args.data.exists():
        make_data(args.photos, args.data)
    Trainer.stop_after = args.stop_after

    model = YOLO(LAST if LAST.exists() else "yolo11n.yaml")
    model.train(
        trainer=Trainer,
        data=str(args.data),
        resume=LAST.exists(),
        epochs=2,
        imgsz=64,
        batch=4,
        mosaic=0,
        amp=False,
        plots=False,
        device="cpu",
        project=str(RUNS),
        name="yolo",
        exist_ok=True,
    )


if __name__ == "__main__":
    main()
