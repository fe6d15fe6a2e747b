"""The loader in Ultralytics' trainer: ``train`` and ``val`` of ``data.yaml`` are datasets of fdconvert.

::

    from fdconvert.ultralytics import DetectionTrainer

    YOLO("yolo26n.yaml").train(trainer=DetectionTrainer, data="data.yaml", imgsz=640, batch=16, mosaic=0)

Such datasets have the field ``objects``, as ``fdconvert pack`` makes it of YOLO's and COCO's labels.
``--drop-crowd`` leaves out what Ultralytics does not train on.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import fdconvert
from fdconvert import transforms as T

try:
    import torch
    from ultralytics.models.yolo.detect import DetectionTrainer as _DetectionTrainer
except ImportError as cause:
    raise ImportError(
        "fdconvert.ultralytics needs Ultralytics, which is not installed here; "
        "install it with: pip install ultralytics"
    ) from cause

_OF_SEVERAL_IMAGES = ("mosaic", "mixup", "cutmix", "copy_paste")
"""Augmentations that make one image of several, which the loader does not have for boxes."""


class DetectionTrainer(_DetectionTrainer):  # type: ignore[misc]  # Ultralytics is not typed.
    """Ultralytics' trainer for detection, with batches of ``Loader``.

    Each epoch has the batches that its number and ``seed`` say, on one GPU and on several. Override
    ``transform`` for other augmentations.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # On one GPU Ultralytics does not say which epoch it resumes.
        self.add_callback("on_train_epoch_start", lambda trainer: trainer.train_loader.set_epoch(trainer.epoch))
        if named := [name for name in _OF_SEVERAL_IMAGES if getattr(self.args, name, 0)]:
            what = f"{', '.join(named)}: the loader does not have it; pass {named[0]}=0 to say that you know"
            warnings.warn(f"fdconvert.ultralytics: {what}", RuntimeWarning, stacklevel=2)

    def transform(self, mode: str) -> list[T.Transform]:
        """Return what is done to images of the mode ``"train"`` or ``"val"``, up to the size ``imgsz``."""
        args = self.args
        frame = T.Letterbox(args.imgsz, 114)
        if mode != "train":
            return [frame]
        shift, zoom = (args.translate,) * 2, (1 - args.scale, 1 + args.scale)
        moved = T.RandomAffine(args.degrees, shift, zoom, [-args.shear, args.shear] * 2, "bilinear", 114)
        flips = [T.RandomHorizontalFlip(args.fliplr), T.RandomVerticalFlip(args.flipud)]
        return [*flips, T.ColorJitter(args.hsv_v, None, args.hsv_s, args.hsv_h), frame, moved]

    def get_dataloader(self, dataset_path: str, batch_size: int = 16, rank: int = 0, mode: str = "train") -> "Batches":
        """Return the batches of a dataset; called by Ultralytics."""
        loader = fdconvert.Loader(
            dataset_path,
            batch_size,
            seed=self.args.seed,
            transform=[*self.transform(mode), T.ToLayout("nchw")],
            sampling=fdconvert.Shuffle() if mode == "train" else fdconvert.Sequential(),
            label=None,
            objects=fdconvert.Objects("objects", segmentations=False),
            threads=self.args.workers,
            output="torch",
        )
        return Batches(loader, batch_size)

    def plot_training_labels(self) -> None:
        """Do nothing: the boxes are not in memory."""


class Batches:
    """What Ultralytics takes in place of a ``DataLoader``: dictionaries made of the batches of a ``Loader``."""

    num_workers = 0
    drop_last = False

    def __init__(self, loader: fdconvert.Loader, batch_size: int) -> None:
        self.loader, self.batch_size = loader, batch_size
        self.dataset = range(loader.n_samples)
        self.sampler = _Sampler(self)

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Begin the epoch with the first batch that is taken."""
        for batch in self.loader.batches():
            yield self._dictionary(batch)

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch."""
        self.loader.set_epoch(epoch)

    def reset(self) -> None:
        """Do nothing: Ultralytics calls this when it ends its mosaics."""

    def _dictionary(self, batch: fdconvert.Batch) -> dict[str, Any]:
        objects, geometry = batch.fields["objects"], batch.geometry
        height, width = batch.images.shape[-2:]
        corners = objects.boxes.reshape(-1, 2, 2)
        boxes = torch.cat([corners.mean(1), corners[:, 1] - corners[:, 0]], 1)
        scales = geometry.matrix.tolist()
        return {
            "img": batch.images,
            "cls": objects.category[:, None].float(),
            "bboxes": boxes / torch.tensor([width, height] * 2),
            "batch_idx": torch.repeat_interleave(torch.arange(len(batch.samples)), objects.offsets.diff()).float(),
            "im_file": [self.loader.dataset.key(number) for number in batch.samples.tolist()],
            "ori_shape": [(height, width) for width, height in geometry.source.tolist()],
            # Height and width; what the frame adds left and above.
            "ratio_pad": [((m[1][1], m[0][0]), (m[0][2], m[1][2])) for m in scales],
        }


class _Sampler:
    """What Ultralytics asks of a sampler."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches.dataset)

    def __iter__(self) -> Iterator[int]:
        return iter(self.batches.dataset)

    def set_epoch(self, epoch: int) -> None:
        self.batches.set_epoch(epoch)
