"""Trains with the Trainer of Hugging Face Transformers; a killed run resumes in the epoch, without skipping.

    pip install . numpy torch==2.15.0 transformers==5.24.0 accelerate==1.15.0
    fdconvert sample photos && fdconvert pack photos train.beton
    python examples/trainers/hf_trainer.py --stop-after 4                   # killed in the second epoch
    python examples/trainers/hf_trainer.py                                  # resumes from the last checkpoint

With `torchrun` each process gets its share of the same batches. By itself the Trainer would decode what was
seen again and drop it, in the order of the first epoch: a DataLoader has no `set_epoch` that it could call.
"""

import argparse
import os
import signal
import zlib
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import ResNetConfig, ResNetForImageClassification, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

import fdconvert as fd
from fdconvert import transforms as T


class PhotoTrainer(Trainer):
    # Transformers' models take dictionaries.
    def get_train_dataloader(self) -> DataLoader:
        names = ("pixel_values", "labels")
        return DataLoader(self.train_dataset, batch_size=None, collate_fn=lambda batch: dict(zip(names, batch)))

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        loss = super().compute_loss(model, inputs, *args, **kwargs)
        images = zlib.crc32(inputs["pixel_values"].numpy())
        epoch, step = self.train_dataset.loader.epoch, self.state.global_step + 1
        print(f"epoch {epoch} step {step}: images {images:08x}, loss {loss:.6f}", flush=True)
        return loss


class Checkpoints(TrainerCallback):
    """Puts the state of the loader into each checkpoint, and kills the run after a step."""

    def __init__(self, batches: fd.TorchIterable, stop_after: int | None) -> None:
        self.batches, self.stop_after = batches, stop_after

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        torch.save(self.batches.state_dict(), f"{args.output_dir}/checkpoint-{state.global_step}/loader.pt")
        if state.global_step == self.stop_after:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="train.beton")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()

    # `ignore_data_skip`, as the loader knows which batches were seen.
    training = TrainingArguments(
        "trainer", num_train_epochs=2, save_steps=1, ignore_data_skip=True, use_cpu=True, report_to="none", seed=0
    )
    batches = fd.TorchIterable(args.dataset, 4, seed=7, transform=T.imagenet_train(64))
    torch.manual_seed(0)
    n_classes = len(batches.loader.classes or [])
    config = ResNetConfig(embedding_size=16, hidden_sizes=[16], depths=[1], layer_type="basic", num_labels=n_classes)
    checkpoint = get_last_checkpoint("trainer") if Path("trainer").exists() else None
    if checkpoint is not None:
        batches.load_state_dict(torch.load(f"{checkpoint}/loader.pt"))
    trainer = PhotoTrainer(
        ResNetForImageClassification(config),
        training,
        train_dataset=batches,
        callbacks=[Checkpoints(batches, args.stop_after)],
    )
    trainer.train(resume_from_checkpoint=checkpoint)


if __name__ == "__main__":
    main()
