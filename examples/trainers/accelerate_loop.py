"""Trains with Accelerate; `save_state` keeps the loader's place as well, and a killed run resumes there.

    pip install . numpy torch==2.15.0 accelerate==1.15.0
    fdconvert sample photos && fdconvert pack photos train.beton
    python examples/trainers/accelerate_loop.py --stop-after 4              # killed in the second epoch
    python examples/trainers/accelerate_loop.py                             # resumes

With `accelerate launch` each process gets its share of the same batches.
"""

import argparse
import os
import signal
from pathlib import Path

import torch
from accelerate import Accelerator

import fdconvert as fd
from fdconvert import transforms as T

LATEST = Path("accelerate.latest")
N_EPOCHS = 2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="train.beton")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()

    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    # After the Accelerator, which initialises torch.distributed, so that each process has its share; and not in
    # `prepare`, which would divide the batches once more.
    loader = fd.Loader(args.dataset, 4, seed=7, transform=T.imagenet_train(64))
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 7, 4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(16, len(loader.classes or [])),
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    model, optimizer = accelerator.prepare(model, optimizer)
    accelerator.register_for_checkpointing(loader)
    if LATEST.exists():
        accelerator.load_state(LATEST.read_text())

    for epoch in range(loader.epoch, N_EPOCHS):
        loader.set_epoch(epoch)
        for batch in loader.batches():
            step = epoch * len(loader) + batch.step + 1
            images, labels = batch.images.to(accelerator.device), batch.labels.to(accelerator.device)
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            print(f"epoch {epoch} step {step}: samples {batch.samples.tolist()}, loss {loss:.6f}", flush=True)
            # Two folders in turn, so that one is complete at any time.
            accelerator.save_state(folder := f"accelerate.{step % 2}")
            if accelerator.is_main_process:
                LATEST.with_suffix(".new").write_text(folder)
                LATEST.with_suffix(".new").replace(LATEST)
            accelerator.wait_for_everyone()
            if step == args.stop_after:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
