"""Trains on two processes by torch's DDP; a run that is killed resumes with the batches it had not had.

    pip install . numpy torch==2.15.0
    fdconvert sample photos && fdconvert pack photos train.beton
    torchrun --nproc-per-node 2 examples/trainers/ddp.py --stop-after 4     # killed in the second epoch
    torchrun --nproc-per-node 2 examples/trainers/ddp.py                    # resumes from ddp.pt

Each rank prints the numbers of its samples. The batches of all ranks together are the same with another
number of processes, also where a run resumes with one.
"""

import argparse
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import fdconvert as fd
from fdconvert import transforms as T

CHECKPOINT = Path("ddp.pt")
N_EPOCHS, GLOBAL_BATCH = 2, 4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="train.beton")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    ranks = fd.Ranks(dist.get_rank(), dist.get_world_size())
    loader = fd.Loader(
        args.dataset, GLOBAL_BATCH // dist.get_world_size(), seed=7, transform=T.imagenet_train(64), ranks=ranks
    )
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 7, 4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(16, len(loader.classes or [])),
    )
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

    if CHECKPOINT.exists():
        saved = torch.load(CHECKPOINT)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])

    for epoch in range(loader.epoch, N_EPOCHS):
        loader.set_epoch(epoch)
        for batch in loader.batches():
            step = epoch * len(loader) + batch.step + 1
            loss = torch.nn.functional.cross_entropy(model(batch.images), batch.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(
                f"epoch {epoch} step {step} rank {dist.get_rank()}: samples {batch.samples.tolist()}, loss {loss:.6f}",
                flush=True,
            )
            # The state of the loader is that of all ranks, so that one of them saves it.
            if dist.get_rank() == 0:
                saved = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(saved | {"loader": loader.state_dict()}, CHECKPOINT.with_suffix(".new"))
                CHECKPOINT.with_suffix(".new").replace(CHECKPOINT)
            dist.barrier()
            if step == args.stop_after:
                os.kill(os.getpid(), signal.SIGKILL)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
