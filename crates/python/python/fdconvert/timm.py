"""The loader by the arguments of timm's ``create_loader``, for its ``train.py`` and scripts like it.

::

    from fdconvert.timm import create_loader, create_mixup

    loader = create_loader(fdconvert.Dataset("train.beton"), (3, 224, 224), 128, is_training=True,
                           auto_augment="rand-m9-inc1", re_prob=0.25, re_mode="pixel",
                           mixup=create_mixup(mixup_alpha=0.8, cutmix_alpha=1.0))

timm itself is not needed. Its arguments become a list of ``fdconvert.transforms``, which draw in their
own way: not the pixels of timm, but the same kinds of changes, of the same strengths. A
``RuntimeWarning`` names what is only nearly the same, and arguments without a counterpart are errors.
"""

import math
import re
import warnings
from collections.abc import Sequence
from typing import Any

from fdconvert import transforms as T
from fdconvert._errors import UsageError
from fdconvert._flat import Source
from fdconvert._groups import Output, Ranks
from fdconvert._loader import Loader
from fdconvert._sampling import Sequential, Shuffle

_OF_PROCESSES = {"distributed", "device", "persistent_workers", "use_multi_epochs_loader", "worker_seeding"}
"""Arguments of timm about worker processes and devices, of which the loader has none."""

_FIXED: dict[str, tuple[Any, ...]] = {
    "use_prefetcher": (False,),
    "num_aug_repeats": (0,),
    "num_aug_splits": (0,),
    "re_split": (False,),
    "re_count": (1,),
    "train_crop_mode": (None, "rrc"),
    "crop_mode": (None, "center"),
    "crop_border_pixels": (None, 0),
    "collate_fn": (None,),
    "fp16": (False,),
    "tf_preprocessing": (False,),
    "input_size_choices": (None,),
    "num_batches": (None,),
}
"""Arguments of timm that the loader has with these values alone."""


def create_loader(
    dataset: Source,
    input_size: int | Sequence[int],
    batch_size: int,
    is_training: bool = False,
    *,
    num_workers: int = 0,
    pin_memory: bool = False,
    img_dtype: Any = "f32",
    mixup: T.Transform | None = None,
    seed: int = 0,
    **arguments: Any,
) -> Loader:
    """Return a loader of normalised tensors, as ``timm.data.create_loader(..., use_prefetcher=False)`` does.

    - ``num_workers``: threads that decode; 0 means one per core.
    - ``mixup``: from ``create_mixup``, in place of timm's ``Mixup`` in the loop.
    - ``seed``: draws the order, and all that transforms draw.
    - ``arguments``: those of ``create_transform``. Others of timm are passed over where they are about
      processes, and refused unless they have timm's value for none.

    Training shuffles and drops the last, incomplete batch. Ranks are those of ``torch.distributed``.
    """
    # Those of batches are for `input_size_choices`.
    arguments = {it: arguments[it] for it in arguments if it not in _OF_PROCESSES and not it.startswith("batch_")}
    transform = create_transform(input_size, is_training, img_dtype=img_dtype, **arguments)
    return Loader(
        dataset,
        batch_size,
        seed=seed,
        transform=[*transform, *([] if mixup is None else [mixup])],
        sampling=Shuffle() if is_training else Sequential(),
        ranks=Ranks(last="drop" if is_training else "short"),
        threads=num_workers,
        output=Output("torch", pin_memory=pin_memory),
    )


def create_transform(
    input_size: int | Sequence[int] = 224,
    is_training: bool = False,
    no_aug: bool = False,
    *,
    scale: Sequence[float] | None = None,
    ratio: Sequence[float] | None = None,
    hflip: float = 0.5,
    vflip: float = 0.0,
    color_jitter: float | Sequence[float] | None = 0.4,
    color_jitter_prob: float | None = None,
    grayscale_prob: float = 0.0,
    gaussian_blur_prob: float = 0.0,
    auto_augment: str | None = None,
    interpolation: str = "bilinear",
    mean: Sequence[float] = T.IMAGENET_MEAN,
    std: Sequence[float] = T.IMAGENET_STD,
    re_prob: float = 0.0,
    re_mode: str = "const",
    crop_pct: float | None = None,
    img_dtype: Any = "f32",
    **others: Any,
) -> list[T.Transform]:
    """Return the list of transforms that these arguments of ``timm.data.create_transform`` mean."""
    for name, value in others.items():
        if name not in _FIXED:
            raise UsageError(f"{name}: fdconvert.timm does not have this argument; leave it out")
        if value not in _FIXED[name]:
            raise UsageError(f"{name}: {value!r} has no counterpart in fdconvert; use {_FIXED[name][0]!r}")
    if interpolation != "bilinear":
        _warn(f"interpolation={interpolation!r}: images are resized by \"bilinear\"")
    size = [int(side) for side in input_size][-2:] if isinstance(input_size, Sequence) else [input_size] * 2
    form: list[T.Transform] = [T.Normalize(mean, std), T.ToDtype(img_dtype), T.ToLayout("nchw")]
    if is_training and no_aug:
        return [T.Resize(size if isinstance(input_size, Sequence) else input_size), T.CenterCrop(size), *form]
    if not is_training:
        if size[0] != size[1]:
            raise UsageError(f"input_size: {input_size!r} is not square; make the list of transforms yourself")
        return [T.Resize(math.floor(size[0] / (crop_pct or 0.875))), T.CenterCrop(size), *form]

    changes: list[T.Transform] = [T.RandomResizedCrop(size, scale or (0.08, 1.0), ratio or (3 / 4, 4 / 3))]
    changes += [T.RandomHorizontalFlip(hflip)] if hflip else []
    changes += [T.RandomVerticalFlip(vflip)] if vflip else []
    colour = [round(255 * level) for level in mean]
    if auto_augment:
        changes += _policy(auto_augment, colour)
    elif color_jitter:
        jitter = [*color_jitter] if isinstance(color_jitter, Sequence) else [color_jitter] * 3
        changes.append(T.RandomApply([T.ColorJitter(*jitter)], 1.0 if color_jitter_prob is None else color_jitter_prob))
    changes += [T.RandomGrayscale(grayscale_prob)] if grayscale_prob else []
    changes += [T.RandomApply([T.GaussianBlur(23)], gaussian_blur_prob)] if gaussian_blur_prob else []
    if re_prob:
        # timm erases normalised images, in which 0 is the mean colour.
        values: dict[str, Any] = {"const": colour, "pixel": "random"}
        if re_mode not in values:
            raise UsageError(f're_mode: {re_mode!r} has no counterpart in fdconvert; use "const" or "pixel"')
        changes.append(T.RandomErasing(re_prob, (0.02, 1 / 3), (0.3, 1 / 0.3), values[re_mode]))
    return [*changes, *form]


def create_mixup(
    mixup_alpha: float = 1.0,
    cutmix_alpha: float = 0.0,
    prob: float = 1.0,
    switch_prob: float = 0.5,
    num_classes: int | None = None,
) -> T.Transform:
    """Return ``timm.data.Mixup`` in its mode ``"batch"`` as a transform, the same after a resume.

    Labels become rows of ``num_classes`` shares; smooth them in the loss (``label_smoothing``).
    """
    kinds: list[tuple[T.Transform, float]] = []
    if mixup_alpha:
        kinds.append((T.MixUp(mixup_alpha, num_classes), 1 - switch_prob))
    if cutmix_alpha:
        kinds.append((T.CutMix(cutmix_alpha, num_classes), switch_prob))
    if not kinds:
        raise UsageError("mixup_alpha, cutmix_alpha: both are 0; leave `mixup` out")
    if len(kinds) == 1:
        return T.RandomApply([kinds[0][0]], prob)
    return T.RandomApply([T.RandomChoice([kind for kind, _ in kinds], [share for _, share in kinds])], prob)


def _policy(text: str, colour: list[int]) -> list[T.Transform]:
    """Return what ``auto_augment`` means, such as ``"rand-m9-mstd0.5-inc1"``."""
    name, *parts = text.split("-")
    found = [re.fullmatch(r"([a-z]+)([0-9.]+)", part) for part in parts]
    numbers = {match[1]: float(match[2]) for match in found if match}
    known = {"rand": {"m", "n", "p", "mstd", "inc"}, "augmix": {"m", "w", "d"}, "original": set()}
    if None in found or name not in known or set(numbers) - known[name]:
        raise UsageError(
            f'auto_augment: {text!r} has no counterpart in fdconvert; use "rand-m9-n2-p0.5-inc1", '
            '"augmix-m3-w3-d2" or "original"'
        )
    if name == "original":
        return [T.AutoAugment(fill=colour)]
    if name == "augmix":
        width, depth = int(numbers.get("w", 3)), int(numbers.get("d", -1))
        return [T.AugMix(int(numbers.get("m", 3)), width, depth, fill=colour)]
    if "mstd" in numbers:
        _warn("auto_augment: without mstd, each change has the strength m")
    if not numbers.get("inc"):
        _warn("auto_augment: with inc1, all changes grow with m")
    # timm's strengths are of 10 and ours of 30; it leaves each change out by chance.
    change = T.RandAugment(1, round(3 * numbers.get("m", 10)), fill=colour)
    return [T.RandomApply([change], numbers.get("p", 0.5)) for _ in range(int(numbers.get("n", 2)))]


def _warn(what: str) -> None:
    warnings.warn(f"fdconvert.timm: {what}", RuntimeWarning, stacklevel=4)
