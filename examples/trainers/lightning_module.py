"""Trains with Lightning; its checkpoints hold the place in the epoch, and a killed run resumes there.

    pip install . numpy torch==2.15.0 lightning==2.6.6
    fdconvert sample photos && fdconvert pack photos train.beton
    python examples/trainers/lightning_module.py --stop-after 4             # killed in the second epoch
    python examples/trainers/lightning_module.py                            # resumes

The loader is what `train_dataloader` returns: Lightning calls its `state_dict` and `load_state_dict`.
"""

import argparse
import os
import signal
import zlib
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

import fdconvert as fd
from fdconvert import transforms as T


class Photos(L.LightningDataModule):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    # Called when torch.distributed is initialised, so that each process gets its share.
    def train_dataloader(self) -> fd.Loader:
        return fd.Loader(self.path, 4, seed=7, transform=T.imagenet_train(64))

    def val_dataloader(self) -> fd.Loader:
        return fd.Loader(self.path, 4, sampling=fd.Sequential(), transform=T.imagenet_eval(64))


class Classifier(L.LightningModule):
    def __init__(self, n_classes: int, stop_after: int | None) -> None:
        super().__init__()
        self.stop_after = stop_after
        self.network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 7, 4),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(16, n_classes),
        )

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        # Killed before the step, as the checkpoint of the step before is complete then.
        if self.global_step == self.stop_after:
            os.kill(os.getpid(), signal.SIGKILL)
        images, labels = batch
        loss = torch.nn.functional.cross_entropy(self.network(images), labels)
        where = f"epoch {self.current_epoch} step {self.global_step + 1}"
        print(f"{where}: images {zlib.crc32(images.numpy()):08x}, loss {loss:.6f}", flush=True)
        return loss

    def validation_step(self, batch: Any, _: int) -> None:
        images, labels = batch
        self.log("val_loss", torch.nn.functional.cross_entropy(self.network(images), labels))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1, momentum=0.9)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="train.beton")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()

    L.seed_everything(0)
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        callbacks=[ModelCheckpoint("lightning", every_n_train_steps=1, save_last=True)],
    )
    model = Classifier(len(fd.Loader(args.dataset).classes or []), args.stop_after)
    last = Path("lightning/last.ckpt")
    trainer.fit(model, Photos(args.dataset), ckpt_path=last if last.exists() else None)


if __name__ == "__main__":
    main()
