"""Pre-trains DeiT-Tiny on fractals that are drawn while it trains, and times every stage.

    pip install . torch timm
    python examples/pretrain.py                                       # 100 classes, 20 steps
    python examples/pretrain.py 'fractal:svd?classes=1000' --steps 500 --batch 256

The dataset may be a recipe, a formula, or any labelled dataset. What a training waits for batches is
a stage of its own.
"""

import argparse
import time
from contextlib import contextmanager
from typing import Iterator

import timm
import torch
from torch import nn

import fdconvert
from fdconvert import transforms as T

MEAN, STD = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)


class Stages:
    """Seconds of each stage of a training."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add what is done in the block to a stage."""
        began = time.perf_counter()
        yield
        if self.device.type == "cuda":
            # Work on a graphics card goes on behind the call.
            torch.cuda.synchronize(self.device)
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began

    def table(self, n_images: int) -> str:
        """Each stage with its share and its milliseconds an image."""
        total = sum(self.seconds.values())
        rows = [
            f"{stage:<10} {seconds:8.2f} s {seconds / total:6.1%} {seconds * 1e3 / n_images:8.3f} ms"
            for stage, seconds in self.seconds.items()
        ]
        return "\n".join([*rows, f"{'all':<10} {total:8.2f} s {n_images / total:.0f} images/s"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="fractal:svd?classes=100&instances=100")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--model", default="deit_tiny_patch16_224")
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    began = time.perf_counter()
    loader = fdconvert.Loader(
        args.dataset,
        batch_size=args.batch,
        transform=[
            T.Resize((224, 224)),
            T.RandomHorizontalFlip(),
            T.Normalize(MEAN, STD),
            T.ToLayout("nchw"),
        ],
        ranks=fdconvert.Ranks(last="drop"),
        output="torch",
    )
    labels = fdconvert.Dataset(args.dataset).labels()
    if labels is None:
        raise SystemExit(f"{args.dataset} has no labels")
    model = timm.create_model(args.model, num_classes=max(labels) + 1).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    loss_of = nn.CrossEntropyLoss()
    print(f"opened after {time.perf_counter() - began:.2f} s, {len(labels)} images, on {device}")

    stages, n_images, step = Stages(device), 0, 0
    while step < args.steps:
        batches = iter(loader)
        while step < args.steps:
            with stages.time("wait"):
                batch = next(batches, None)
            if batch is None:
                break
            images, targets = batch
            with stages.time("upload"):
                images, targets = images.to(device), targets.to(device)
            with stages.time("forward"):
                loss = loss_of(model(images), targets)
            with stages.time("backward"):
                optimizer.zero_grad()
                loss.backward()
            with stages.time("update"):
                optimizer.step()
            step, n_images = step + 1, n_images + len(targets)
            if step % 10 == 0:
                print(f"step {step}: loss {loss.item():.3f}")
    print(stages.table(n_images))


if __name__ == "__main__":
    main()
