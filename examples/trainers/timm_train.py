"""Trains a model of timm as its train.py does, with `fdconvert.timm.create_loader`; a killed run resumes in the epoch.

    pip install . numpy torch==2.15.0 torchvision==0.29.2 timm==1.0.31
    fdconvert sample photos && fdconvert pack photos train.beton
    python examples/trainers/timm_train.py --stop-after 4                   # killed in the second epoch
    python examples/trainers/timm_train.py                                  # resumes from timm.pt

MixUp and CutMix are those of the loader: timm's `Mixup` draws from NumPy's generator, whose place no
checkpoint of timm holds.
"""

import argparse
import os
import signal
import zlib
from pathlib import Path

import timm
import torch
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler

import fdconvert as fd
from fdconvert.timm import create_loader, create_mixup

CHECKPOINT = Path("timm.pt")
N_EPOCHS = 2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="train.beton")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()

    torch.manual_seed(0)
    dataset = fd.Dataset(args.dataset)
    model = timm.create_model("test_vit", num_classes=max(dataset.labels() or [0]) + 1, img_size=64)
    config = timm.data.resolve_data_config({"input_size": (3, 64, 64)}, model=model)
    loader_train = create_loader(
        dataset,
        config["input_size"],
        4,
        is_training=True,
        auto_augment="rand-m9-inc1",
        re_prob=0.25,
        re_mode="pixel",
        mean=config["mean"],
        std=config["std"],
        mixup=create_mixup(mixup_alpha=0.8, cutmix_alpha=1.0),
        seed=42,
    )
    loader_eval = create_loader(dataset, config["input_size"], 4, mean=config["mean"], std=config["std"])
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
    scheduler = CosineLRScheduler(optimizer, N_EPOCHS * len(loader_train), t_in_epochs=False)
    loss_of = SoftTargetCrossEntropy()
    if CHECKPOINT.exists():
        saved = torch.load(CHECKPOINT)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader_train.load_state_dict(saved["loader"])

    for epoch in range(loader_train.epoch, N_EPOCHS):
        loader_train.set_epoch(epoch)
        model.train()
        for batch in loader_train.batches():
            step = epoch * len(loader_train) + batch.step + 1
            loss = loss_of(model(batch.images), batch.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step_update(step)
            images = zlib.crc32(batch.images.numpy())
            print(f"epoch {epoch} step {step}: images {images:08x}, loss {loss:.6f}", flush=True)
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(saved | {"loader": loader_train.state_dict()}, CHECKPOINT.with_suffix(".new"))
            CHECKPOINT.with_suffix(".new").replace(CHECKPOINT)
            if step == args.stop_after:
                os.kill(os.getpid(), signal.SIGKILL)
        model.eval()
        with torch.no_grad():
            right = sum(int((model(images).argmax(1) == labels).sum()) for images, labels in loader_eval)
        print(f"epoch {epoch}: {right} of {len(dataset)} right")


if __name__ == "__main__":
    main()
