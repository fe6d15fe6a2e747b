"""Trains with Keras's `fit`, on any backend; a killed run resumes in the epoch.

    pip install . numpy keras==3.15.1 torch==2.15.0                         # or jax==0.10.2
    fdconvert sample photos && fdconvert pack photos train.beton
    export KERAS_BACKEND=torch                                              # or jax
    python examples/trainers/keras_fit.py --stop-after 4                    # killed in the second epoch
    python examples/trainers/keras_fit.py                                   # resumes from keras.json

A `PyDataset` keeps the loader's order where it begins a loop with each epoch and takes the next batch,
whatever its index: Keras shuffles the indices, and asks for a batch before the training to see its shape.
A plain generator would repeat the batches that Keras looked at, unless `fit` has `steps_per_epoch`.
"""

import argparse
import json
import os
import signal
from collections import deque
from pathlib import Path
from typing import Any

import keras

import fdconvert as fd
from fdconvert import transforms as T

CHECKPOINT = Path("keras.json")
N_EPOCHS = 2


class Batches(keras.utils.PyDataset):
    """The batches of an epoch, or those that are left of one."""

    def __init__(self, loader: fd.Loader, n_done: int = 0) -> None:
        super().__init__()
        self.loader, self.n_done = loader, n_done

    @property
    def num_batches(self) -> int:
        return len(self.loader) - self.n_done

    def on_epoch_begin(self) -> None:
        self.batches = self.loader.batches()
        # Keras may take batches ahead: those that are not trained on yet.
        self.ahead: deque[fd.Batch] = deque()

    def __getitem__(self, _: int) -> tuple[Any, Any]:
        batch = next(self.batches)
        self.ahead.append(batch)
        return batch.images, batch.labels


class Checkpoints(keras.callbacks.Callback):
    """Saves after each step, and kills the run after one of them."""

    def __init__(self, batches: Batches, stop_after: int | None) -> None:
        super().__init__()
        self.batches, self.stop_after = batches, stop_after

    def on_train_batch_end(self, _: int, logs: Any = None) -> None:
        batch, loader = self.batches.ahead.popleft(), self.batches.loader
        step = batch.epoch * len(loader) + batch.step + 1
        # The loss in `logs` is the mean of the steps since the epoch began, or was resumed.
        weights = sum(float(keras.ops.sum(keras.ops.abs(weight))) for weight in self.model.weights)
        print(f"epoch {batch.epoch} step {step}: samples {batch.samples.tolist()}, weights {weights:.6f}", flush=True)
        # Two files in turn, so that one is complete at any time.
        self.model.save(f"model.{step % 2}.keras")
        state = loader.state_dict() | {"state": batch.state}
        saved = {"model": f"model.{step % 2}.keras", "loader": state, "step": step}
        CHECKPOINT.with_suffix(".new").write_text(json.dumps(saved))
        CHECKPOINT.with_suffix(".new").replace(CHECKPOINT)
        if step == self.stop_after:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="train.beton")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()

    keras.utils.set_random_seed(0)
    transform = [T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.Normalize(T.IMAGENET_MEAN, T.IMAGENET_STD)]
    loader = fd.Loader(args.dataset, 4, seed=7, transform=transform, output="numpy")
    if CHECKPOINT.exists():
        saved = json.loads(CHECKPOINT.read_text())
        model = keras.saving.load_model(saved["model"])
        loader.load_state_dict(saved["loader"])
        epoch, n_done = divmod(saved["step"], len(loader))
    else:
        layers = [keras.layers.Conv2D(16, 7, 4, activation="relu"), keras.layers.GlobalAveragePooling2D()]
        model = keras.Sequential([keras.Input((64, 64, 3)), *layers, keras.layers.Dense(len(loader.classes or []))])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.1, 0.9), loss)
        epoch, n_done = 0, 0

    # Keras counts the batches once for all epochs of a `fit`, so that the rest of an epoch is one of its own.
    while epoch < N_EPOCHS:
        batches = Batches(loader, n_done)
        until = epoch + 1 if n_done else N_EPOCHS
        callbacks = [Checkpoints(batches, args.stop_after)]
        model.fit(batches, initial_epoch=epoch, epochs=until, callbacks=callbacks, verbose=0)
        epoch, n_done = until, 0


if __name__ == "__main__":
    main()
