"""Trains a scikit-learn model batch by batch with `partial_fit`; a killed run resumes in the epoch.

    pip install . numpy scikit-learn==1.9.1
    fdconvert sample photos && fdconvert pack photos train.beton
    python examples/trainers/sklearn_partial_fit.py --stop-after 4          # killed in the second epoch
    python examples/trainers/sklearn_partial_fit.py                         # resumes from sklearn.pickle
"""

import argparse
import os
import pickle
import signal
from pathlib import Path

from sklearn.linear_model import SGDClassifier

import fdconvert as fd
from fdconvert import transforms as T

CHECKPOINT = Path("sklearn.pickle")
N_EPOCHS = 2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="train.beton")
    parser.add_argument("--stop-after", type=int, help="steps after which the run is killed")
    args = parser.parse_args()

    transform = [T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToDtype("f32")]
    loader = fd.Loader(args.dataset, 4, seed=7, transform=transform, output="numpy")
    model = SGDClassifier(loss="log_loss", random_state=0)
    classes = range(len(loader.classes or []))
    if CHECKPOINT.exists():
        model, state = pickle.loads(CHECKPOINT.read_bytes())
        loader.load_state_dict(state)

    for epoch in range(loader.epoch, N_EPOCHS):
        loader.set_epoch(epoch)
        for batch in loader.batches():
            step = epoch * len(loader) + batch.step + 1
            model.partial_fit(batch.images.reshape(len(batch.images), -1), batch.labels, classes)
            weight = abs(model.coef_).sum()
            print(f"epoch {epoch} step {step}: samples {batch.samples.tolist()}, weights {weight:.6f}", flush=True)
            CHECKPOINT.with_suffix(".new").write_bytes(pickle.dumps((model, loader.state_dict())))
            CHECKPOINT.with_suffix(".new").replace(CHECKPOINT)
            if step == args.stop_after:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
