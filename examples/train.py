"""Trains a small network, stops in the middle of an epoch and continues as if nothing had happened.

    pip install . numpy torch
    python examples/train.py                # the sample photos of this repository
    python examples/train.py train.beton    # any labelled dataset, or a folder of class folders

It trains on the CPU for two epochs: once without a break, and once stopped in the second epoch and
started again from the checkpoint file. The losses are the same to the last bit.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

import fdconvert
from fdconvert import transforms as T

PHOTOS = Path(__file__).parents[1] / "tests" / "fixtures" / "kodak"
N_EPOCHS = 2


def sample_dataset(folder: Path) -> Path:
    """Pack the sample photos, with a class for every other one."""
    photos = sorted(PHOTOS.glob("*.png"))
    table = folder / "labels.csv"
    lines = [f"{photo.name},{number % 2}\n" for number, photo in enumerate(photos)]
    table.write_text("path,label\n" + "".join(lines))
    packed = folder / "photos.beton"
    fdconvert.pack(PHOTOS, packed, labels=table, jpeg_quality=90, max_side=160)
    return packed


class Training:
    """A network, its optimizer and its loader: all that a checkpoint has to hold."""

    def __init__(self, path: Path) -> None:
        torch.manual_seed(0)
        labels = fdconvert.Dataset(path).labels()
        if labels is None:
            raise SystemExit(f"{path} has no labels")
        self.network = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, max(labels) + 1),
        )
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-3)
        self.loader = fdconvert.Loader(
            path,
            batch_size=4,
            seed=7,
            transform=[
                T.RandomResizedCrop(96),
                T.RandomHorizontalFlip(),
                T.TrivialAugmentWide(),
                T.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
                T.ToLayout("nchw"),
            ],
            output="torch",
        )

    def run(self, n_steps: int | None = None) -> list[float]:
        """Train to the end, or for some steps, and return the loss of each step."""
        losses: list[float] = []
        # After a checkpoint was loaded, the first of these loops continues in its epoch.
        while self.loader.epoch < N_EPOCHS:
            for images, labels in self.loader:
                loss = nn.functional.cross_entropy(self.network(images), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
                if len(losses) == n_steps:
                    return losses
        return losses

    def save(self, file: Path) -> None:
        parts = {"network": self.network, "optimizer": self.optimizer, "loader": self.loader}
        torch.save({name: part.state_dict() for name, part in parts.items()}, file)

    def load(self, file: Path) -> None:
        state: dict[str, Any] = torch.load(file)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.loader.load_state_dict(state["loader"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "checkpoint.pt"
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else sample_dataset(Path(folder))

        unbroken = Training(path)
        expected = unbroken.run()
        print("without a break:", " ".join(f"{loss:.4f}" for loss in expected))

        # Into the middle of the second epoch.
        stop = len(unbroken.loader) * 3 // 2
        stopped = Training(path)
        losses = stopped.run(stop)
        stopped.save(checkpoint)
        print(f"stopped in epoch {stopped.loader.epoch}:", " ".join(f"{it:.4f}" for it in losses))

        resumed = Training(path)
        resumed.load(checkpoint)
        rest = resumed.run()
        print("resumed:        ", " ".join(f"{loss:.4f}" for loss in rest))

        if losses + rest != expected:
            raise SystemExit("the losses differ")
        print(f"all {len(expected)} losses are the same to the last bit")


if __name__ == "__main__":
    main()
