"""Sizes of the images of a batch: ``sizes`` of ``Loader``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from fdconvert._errors import UsageError
from fdconvert._groups import Group, Output
from fdconvert._views import ViewGroup

# Height and width; Podell et al., "SDXL: Improving Latent Diffusion Models for High-Resolution Image
# Synthesis", arXiv 2307.01952, appendix I.
SDXL = (
    (512, 2048), (512, 1984), (512, 1920), (512, 1856), (576, 1792), (576, 1728), (576, 1664),
    (640, 1600), (640, 1536), (704, 1472), (704, 1408), (704, 1344), (768, 1344), (768, 1280),
    (832, 1216), (832, 1152), (896, 1152), (896, 1088), (960, 1088), (960, 1024), (1024, 1024),
    (1024, 960), (1088, 960), (1088, 896), (1152, 896), (1152, 832), (1216, 832), (1280, 768),
    (1344, 768), (1408, 704), (1472, 704), (1536, 640), (1600, 640), (1664, 576), (1728, 576),
    (1792, 576), (1856, 512), (1920, 512), (1984, 512), (2048, 512),
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Buckets(Group):
    """Batches of several sizes: ``Buckets([(512, 512), (448, 576), (576, 448)])``, height and width.

    Each image goes to the size with the nearest ratio of width to height, the first of equally near
    ones; it is resized to cover the size, and the middle is cut out, or with ``crop="random"`` any part.
    This comes before the transforms. A batch has one size, the same on all ranks in each step.
    """

    sizes: Sequence[tuple[int, int]]
    crop: Literal["center", "random"] = "center"

    def __post_init__(self) -> None:
        sizes = []
        for size in self.sizes:
            if not isinstance(size, (tuple, list)) or len(size) != 2:
                raise TypeError(f"Buckets.sizes: {size!r} is no pair of height and width")
            sizes.append((_side(size[0]), _side(size[1])))
        object.__setattr__(self, "sizes", tuple(sizes))
        if not sizes:
            raise self._refuse("sizes", "the list is empty")
        self._known("crop", "center", "random")

    @classmethod
    def sdxl(cls) -> Self:
        """Return the 40 sizes of about a megapixel that SDXL was trained with."""
        return cls(SDXL)

    @classmethod
    def of_area(cls, pixels: int, step: int = 64, longest: float = 4.0) -> Self:
        """Return sizes of at most that many pixels, whose sides are multiples of ``step``.

        There is one for each height: the widest that fits. The long side is at most ``longest`` times
        the short one.
        """
        pixels, step = _side(pixels), _side(step)
        sizes = []
        for height in range(step, pixels // step + 1, step):
            width = pixels // height // step * step
            if width and max(height, width) <= longest * min(height, width):
                sizes.append((height, width))
        if not sizes:
            raise UsageError(f"Buckets.of_area: {pixels} pixels are fewer than those of {step}x{step}")
        return cls(sizes)


@dataclass(frozen=True, repr=False)
class Patches(Group):
    """Images of any shape as sequences of patches, as NaViT and NaFlex take them: ``Patches(256)``.

    An image is resized, in its shape, to as many whole patches of ``size`` pixels a side as fit into
    ``most``, before the transforms. ``tokens`` are the patches of a batch on this rank: with it a batch
    has ``tokens // most`` rows, whatever ``batch_size`` says. The images of a batch are a dictionary
    with the names that timm's models take: ``patches`` of shape (rows, most, size * size * 3),
    ``patch_coord`` (rows, most, 2) with row and column of each, and ``patch_valid`` (rows, most).
    """

    most: int
    size: int = 16
    tokens: int | None = None

    def __post_init__(self) -> None:
        self._whole("most", 1)
        self._whole("size", 1)
        if self.tokens is not None:
            self._whole("tokens", self.most)


Sizes: TypeAlias = Buckets | Patches | Literal["one", "own"]
"""What sizes the images of batches have."""


def sizes_of(sizes: Any, batch_size: int) -> tuple[dict[str, Any], int]:
    """Return the sizes in the form of the engine, and the rows of a batch."""
    flat: dict[str, Any] = {"sizes": "one", "buckets": [], "bucket_crop": "center", "patches": (1, 1)}
    if isinstance(sizes, Buckets):
        return flat | {"sizes": "buckets", "buckets": list(sizes.sizes), "bucket_crop": sizes.crop}, batch_size
    if isinstance(sizes, Patches):
        rows = batch_size if sizes.tokens is None else sizes.tokens // sizes.most
        return flat | {"sizes": "patches", "patches": (sizes.most, sizes.size)}, rows
    if sizes not in ("one", "own"):
        known = '"one", "own", fdconvert.Buckets(...) or fdconvert.Patches(...)'
        kind = UsageError if isinstance(sizes, str) else TypeError
        raise kind(f"sizes: unknown {sizes!r}; expected {known}")
    return flat | {"sizes": sizes}, batch_size


def _side(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"Buckets: {value!r} is no whole number of pixels")
    number = int(value)
    if not 0 < number < 1 << 31:
        raise UsageError(f"Buckets: {number} is no number of pixels; expected 1 or more")
    return number


def check_sizes(sizes: str, output: Output, groups: Sequence[ViewGroup]) -> None:
    """Refuse what batches of several sizes cannot have."""
    if sizes == "one":
        return
    if output.out is not None:
        raise UsageError("Output.out: it has the form of a batch, and these have several; leave `sizes` out")
    if sizes != "buckets" and any(not it.batch for group in groups for it in group.functions):
        raise UsageError("transform: rows of their own sizes are no array; use Function(f, batch=True)")
    if sizes == "patches" and any(group.functions for group in groups):
        raise UsageError("transform: Function works on images, and these are patches; leave it out")
