"""Trains with JAX on batches that are sharded over the devices; a killed run resumes in the epoch.

    pip install . numpy jax==0.10.2
    fdconvert sample photos && fdconvert pack photos train.beton
    export XLA_FLAGS=--xla_force_host_platform_device_count=2               # two devices of one CPU
    python examples/trainers/jax_sharded.py --stop-after 4                  # killed in the second epoch
    python examples/trainers/jax_sharded.py                                 # resumes from jax.pickle

With several processes (`jax.distributed.initialize`) each one makes the rows of its own devices.
"""

import argparse
import os
import pickle
import signal
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import fdconvert as fd
from fdconvert import transforms as T

CHECKPOINT = Path("jax.pickle")
N_EPOCHS = 2


def loss_of(params: Any, images: jax.Array, labels: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(images.reshape(len(images), -1) @ params["hidden"])
    return -jnp.take_along_axis(jax.nn.log_softmax(hidden @ params["head"]), labels[:, None], 1).mean()


@jax.jit
def train_step(params: Any, images: jax.Array, labels: jax.Array) -> tuple[Any, jax.Array]:
    loss, grads = jax.value_and_grad(loss_of)(params, images, labels)
    return jax.tree.map(lambda param, grad: param - 0.01 * grad, params, grads), loss


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="train.beton")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()

    # The rows of a batch are divided among the devices, so the last batch has to be whole.
    ranks = fd.Ranks(jax.process_index(), jax.process_count(), last="drop")
    transform = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.Normalize(T.IMAGENET_MEAN, T.IMAGENET_STD)]
    loader = fd.Loader(args.dataset, 4, seed=7, transform=transform, ranks=ranks, output="numpy")
    rows = NamedSharding(Mesh(jax.devices(), ("rows",)), PartitionSpec("rows"))

    draw = np.random.default_rng(0)
    sizes = {"hidden": (32 * 32 * 3, 16), "head": (16, len(loader.classes or []))}
    params = {name: jnp.asarray(0.02 * draw.standard_normal(size), jnp.float32) for name, size in sizes.items()}
    if CHECKPOINT.exists():
        params, state = pickle.loads(CHECKPOINT.read_bytes())
        loader.load_state_dict(state)

    for epoch in range(loader.epoch, N_EPOCHS):
        loader.set_epoch(epoch)
        for batch in loader.batches():
            step = epoch * len(loader) + batch.step + 1
            images, labels = (
                jax.make_array_from_process_local_data(rows, array) for array in (batch.images, batch.labels)
            )
            params, loss = train_step(params, images, labels)
            per_device = [shard.data.shape[0] for shard in images.addressable_shards]
            samples = f"samples {batch.samples.tolist()}, rows on the devices {per_device}"
            print(f"epoch {epoch} step {step}: {samples}, loss {loss:.6f}", flush=True)
            saved = jax.tree.map(np.asarray, params), loader.state_dict()
            CHECKPOINT.with_suffix(".new").write_bytes(pickle.dumps(saved))
            CHECKPOINT.with_suffix(".new").replace(CHECKPOINT)
            if step == args.stop_after:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
