"""Lists of transforms: torchvision's results for the drawn numbers, keys, and refusals."""

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import by_torchvision
import fdconvert
from fdconvert import transforms as T

Random = numpy.random.Generator
Maker = Callable[[Random, int, int], list[T.Transform]]


def image(height: int, width: int, seed: int) -> Any:
    """Waves, as photos have them, some of them gray."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x * random.uniform(0.01, 0.3) + y * random.uniform(0.01, 0.3) + c) for c in range(3)]
    levels = 127 + 90 * numpy.stack(waves, axis=-1) + random.uniform(-30, 30, (height, width, 3))
    if seed % 5 == 0:
        levels[...] = levels[..., :1]
    return levels.clip(0, 255).astype(numpy.uint8)


def side(random: Random) -> int:
    """Of a photo that is small for a test's sake, down to one pixel."""
    known = [1, 2, 3, int(random.integers(4, 40)), int(random.integers(40, 160))]
    return known[random.integers(5)]


def sides(random: Random) -> tuple[int, int]:
    return side(random), side(random)


def colour(random: Random) -> tuple[int, ...]:
    return tuple(int(level) for level in random.integers(0, 256, 3))


def padding(random: Random, height: int, width: int) -> tuple[int, ...]:
    """Of less than the image, which is mirrored in it."""
    return tuple(int(random.integers(0, min(9, it))) for it in (width, height, width, height))


def center(random: Random, height: int, width: int) -> tuple[float, float] | None:
    if random.random() < 0.5:
        return None
    return float(random.uniform(0, width)), float(random.uniform(0, height))


EXACT: dict[str, Maker] = {
    "nearest": lambda r, h, w: [T.Resize(sides(r), interpolation="nearest")],
    "center": lambda r, h, w: [T.CenterCrop(sides(r))],
    "crop": lambda r, h, w: [
        T.RandomCrop(sides(r), padding=int(r.integers(0, 9)), pad_if_needed=True, fill=colour(r))
    ],
    "crop of edges": lambda r, h, w: [T.RandomCrop(sides(r), pad_if_needed=True, padding_mode="edge")],
    "pad": lambda r, h, w: [T.Pad([int(it) for it in r.integers(0, 30, 4)], colour(r))],
    "pad by edges": lambda r, h, w: [T.Pad(int(r.integers(0, 30)), padding_mode="edge")],
    "pad by mirroring": lambda r, h, w: [T.Pad(padding(r, h, w), padding_mode="reflect")],
    "pad by repeating": lambda r, h, w: [T.Pad(padding(r, h, w), padding_mode="symmetric")],
    "flips": lambda r, h, w: [T.RandomHorizontalFlip(), T.RandomVerticalFlip()],
    "invert": lambda r, h, w: [T.RandomInvert(0.8)],
    "posterize": lambda r, h, w: [T.RandomPosterize(int(r.integers(0, 9)), 0.8)],
    "solarize": lambda r, h, w: [T.RandomSolarize(r.uniform(0, 255), 0.8)],
    "equalize": lambda r, h, w: [T.RandomEqualize(0.8)],
    "erasing": lambda r, h, w: [T.RandomErasing(0.8, (0.02, 0.6), value=colour(r))],
    "exact ones in order": lambda r, h, w: [
        T.RandomOrder([T.RandomInvert(), T.RandomEqualize(), T.RandomPosterize(3), T.Pad(1)])
    ],
}

NEAR: dict[str, Maker] = {
    "resize": lambda r, h, w: [T.Resize(sides(r))],
    "short": lambda r, h, w: [T.Resize(int(r.integers(1, 60)))],
    "short and long": lambda r, h, w: [T.Resize(s := int(r.integers(1, 40)), max_size=s + side(r))],
    "eval": lambda r, h, w: [T.Resize(40), T.CenterCrop(sides(r))],
    "rrc": lambda r, h, w: [
        T.RandomResizedCrop(sides(r), (0.05, 1.0)), T.RandomHorizontalFlip(), T.RandomVerticalFlip()
    ],
    "jitter": lambda r, h, w: [T.ScaleJitter(sides(r), (0.5, 1.5)), T.RandomHorizontalFlip(1.0)],
    "letterbox": lambda r, h, w: [T.Letterbox(sides(r), colour(r))],
    "cover": lambda r, h, w: [T.Cover(sides(r), bool(r.random() < 0.5))],
    "rotation": lambda r, h, w: [
        T.RandomRotation(180, expand=bool(r.random() < 0.5), fill=colour(r), center=center(r, h, w))
    ],
    "bilinear rotation": lambda r, h, w: [
        T.RandomRotation(90, "bilinear", expand=bool(r.random() < 0.5), fill=colour(r))
    ],
    "affine": lambda r, h, w: [
        T.RandomAffine(30, (0.2, 0.3), (0.7, 1.4), (-10, 10, -5, 5), fill=colour(r), center=center(r, h, w))
    ],
    "bilinear affine": lambda r, h, w: [T.RandomAffine(30, shear=20, interpolation="bilinear")],
    "perspective": lambda r, h, w: [T.RandomPerspective(r.uniform(0.1, 0.6), 0.8, fill=colour(r))],
    "nearest perspective": lambda r, h, w: [T.RandomPerspective(0.5, 0.8, "nearest")],
    "colours": lambda r, h, w: [
        T.ColorJitter(r.uniform(0, 1), r.uniform(0, 1), r.uniform(0, 1), r.uniform(0, 0.5))
    ],
    "gray": lambda r, h, w: [T.RandomGrayscale(0.8)],
    "blur": lambda r, h, w: [T.GaussianBlur(int(r.integers(0, min(h, w, 12))) * 2 + 1, (0.1, 4.0))],
    "autocontrast": lambda r, h, w: [T.RandomAutocontrast(0.8)],
    "sharpness": lambda r, h, w: [T.RandomAdjustSharpness(r.uniform(0, 4), 0.8)],
    "autoaugment": lambda r, h, w: [T.AutoAugment(r.choice(["imagenet", "cifar10", "svhn"]), fill=colour(r))],
    "randaugment": lambda r, h, w: [T.RandAugment(int(r.integers(1, 5)), int(r.integers(0, 31)))],
    "trivial": lambda r, h, w: [T.TrivialAugmentWide(interpolation="bilinear")],
    "augmix": lambda r, h, w: [T.AugMix(int(r.integers(1, 11)), interpolation="nearest")],
    "containers": lambda r, h, w: [
        T.RandomApply([T.Grayscale(), T.RandomHorizontalFlip()], 0.5),
        T.RandomChoice([T.RandomInvert(1.0), T.RandomRotation(30)], [1, 3]),
        T.RandomOrder([T.RandomSolarize(99, 1.0), T.ColorJitter(0.4)]),
    ],
    "many": lambda r, h, w: [
        # Before the resize, as it would make a level of difference more.
        T.ColorJitter(0.4, 0.4),
        T.RandomRotation(20, fill=colour(r)),
        T.RandomResizedCrop(sides(r), (0.3, 1.0)),
        T.RandomHorizontalFlip(),
        T.RandomErasing(),
    ],
}
# A resize has weights of fewer bits here, so that some levels are rounded to the one beside.
RESIZES = {"resize", "short", "short and long", "eval", "rrc", "jitter", "letterbox", "cover", "many"}
# Corners of a few pixels are moved onto each other.
NEEDS_ROOM = {"perspective", "nearest perspective"}
N_IMAGES = 26


def test_there_are_a_thousand_images() -> None:
    assert N_IMAGES * len(EXACT | NEAR) >= 1000


@pytest.mark.parametrize("name", [*EXACT, *NEAR])
def test_results_are_torchvisions(name: str) -> None:
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    random = numpy.random.default_rng(sum(name.encode()))
    levels = different = far = 0
    for number in range(N_IMAGES):
        height, width = (it + 8 * (name in NEEDS_ROOM) for it in sides(random))
        transforms = (EXACT.get(name) or NEAR[name])(random, height, width)
        source = image(height, width, number)
        key = {"seed": number, "epoch": 1, "sample": 5, "view": number % 3}
        changes = T.draw(transforms, (height, width), **key)
        expected = by_torchvision.image(changes, source)
        found = numpy.asarray(T.apply(transforms, source, **key))
        assert found.shape == expected.shape, changes
        apart = numpy.abs(found.astype(int) - expected)
        if name in EXACT:
            assert apart.max() == 0, (height, width, changes)
        levels, different, far = levels + apart.size, different + (apart > 0).sum(), far + (apart > 1).sum()
    assert far <= levels / 1000, (far, levels)
    if name not in RESIZES:
        assert different <= levels / 1000, (different, levels)


@pytest.fixture
def timm_erasing() -> Any:
    """The module of its class, whose package brings more than is needed here."""
    return pytest.importorskip("timm.data.random_erasing", reason="timm is not installed")


class Rectangle:
    """Numbers that make timm take a rectangle."""

    def __init__(self, erased: dict[str, int], height: int, width: int) -> None:
        self.share = erased["height"] * erased["width"] / (height * width)
        ratio = math.log(erased["height"] / erased["width"])
        self.uniforms, self.places = [self.share, ratio], [erased["top"], erased["left"]]

    def random(self) -> float:
        return 0.0

    def uniform(self, *_: float) -> float:
        return self.uniforms.pop(0)

    def randint(self, *_: int) -> int:
        return self.places.pop(0)


def test_what_is_erased_is_timms(timm_erasing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    erasing = [T.RandomErasing(1.0), T.ToDtype("f32"), T.ToLayout("nchw")]
    for number in range(30):
        source = image(30 + number, 61 - number, number)
        (change,) = T.draw(erasing, source.shape[:2], seed=number)
        monkeypatch.setattr(timm_erasing, "random", Rectangle(change["erase"], *source.shape[:2]))
        tensor = torch.from_numpy(numpy.array(T.apply(erasing[1:], source)))
        theirs = timm_erasing.RandomErasing(1.0, mode="const", device="cpu")(tensor)
        found = numpy.asarray(T.apply(erasing, source, seed=number))
        numpy.testing.assert_array_equal(found, theirs.numpy())


def test_random_pixels_are_timms(timm_erasing: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    normalised = [T.Normalize(T.IMAGENET_MEAN, T.IMAGENET_STD), T.ToLayout("nchw")]
    erasing = T.RandomErasing(1.0, (0.3, 0.3), (1, 1), value="random")
    ours, theirs = [], []
    for number in range(20):
        source = image(60, 60, number)
        plain = numpy.asarray(T.apply(normalised, source))
        found = numpy.asarray(T.apply([erasing, *normalised], source, seed=number))
        ours.append(found[found != plain])
        torch.manual_seed(number)
        tensor = timm_erasing.RandomErasing(1.0, 0.3, 0.3, 1.0, mode="pixel", device="cpu")(
            torch.from_numpy(plain.copy())
        ).numpy()
        theirs.append(tensor[tensor != plain])
    shares = [0.1, 0.25, 0.5, 0.75, 0.9]
    found, expected = (numpy.quantile(numpy.concatenate(it), shares) for it in (ours, theirs))
    # Levels end at 0 and 255.
    numpy.testing.assert_allclose(found, expected, atol=0.05)


def test_a_key_gives_the_same_row() -> None:
    source = image(90, 70, 1)
    transforms = T.simclr(32)
    row = numpy.asarray(T.apply(transforms, source, seed=3, sample=9))
    assert row.shape == (3, 32, 32) and row.dtype == numpy.float32
    assert numpy.array_equal(row, T.apply(transforms, source, seed=3, sample=9))
    for other in ({"seed": 4}, {"sample": 8}, {"epoch": 1}, {"view": 1}):
        assert not numpy.array_equal(row, T.apply(transforms, source, **{"seed": 3, "sample": 9} | other))


def test_the_form_of_the_row() -> None:
    source = image(20, 30, 2)
    plain = numpy.asarray(T.apply([], source))
    assert numpy.array_equal(plain, source)
    floats = numpy.asarray(T.apply([T.ToDtype(numpy.float32), T.ToLayout("nchw")], source))
    assert numpy.array_equal(floats, (source.astype(numpy.float32) / 255).transpose(2, 0, 1))
    normal = [T.Normalize(T.IMAGENET_MEAN, T.IMAGENET_STD)]
    mean = numpy.array(T.IMAGENET_MEAN, numpy.float32)
    expected = (source.astype(numpy.float32) / 255 - mean) / numpy.array(T.IMAGENET_STD, numpy.float32)
    assert numpy.abs(numpy.asarray(T.apply(normal, source)) - expected).max() < 1e-6


def test_presets_are_lists() -> None:
    source = image(300, 400, 3)
    assert T.apply(T.imagenet_train(64), source).shape == (3, 64, 64)
    assert T.apply(T.imagenet_eval(64), source).shape == (3, 64, 64)
    assert T.apply(T.detection(96), source).shape == (3, 96, 96)
    for count, view in T.dino(48, 24, 3).values():
        assert count in (1, 3) and T.apply(view, source).shape[0] == 3
    assert repr(T.CenterCrop(3)) == "CenterCrop(size=[3, 3])"
    assert T.Resize(3) == T.Resize(3) and T.Resize(3) != T.Resize(4)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: [T.RandomResizedCrop(0)], "a side has 1 to"),
        (lambda: [T.RandomHorizontalFlip(1.5)], "not a probability"),
        (lambda: [T.RandomResizedCrop(9, scale=(1, 2))], "scale"),
        (lambda: [T.GaussianBlur(4)], "odd"),
        (lambda: [T.ToDtype("f32"), T.Grayscale()], "comes before"),
        (lambda: [T.RandomApply([])], "no transforms"),
        (lambda: [T.RandomApply([T.ToDtype("f32")])], "cannot be in"),
        (lambda: [T.RandAugment(2, 31)], "magnitude"),
        (lambda: [T.RandomCrop(300)], "pad_if_needed"),
        (lambda: [T.ToDtype("f64")], "f64"),
        (lambda: ["Resize"], "not one of"),
        (lambda: [T.Pad(-1)], "padding"),
        (lambda: [T.ColorJitter(hue=0.7)], "hue"),
    ],
)
def test_wrong_arguments_are_told(make: Callable[[], list[Any]], what: str) -> None:
    with pytest.raises(fdconvert.UsageError, match=what):
        T.apply(make(), image(20, 30, 4))


def test_an_image_must_be_rgb() -> None:
    for wrong in (numpy.zeros((4, 4), numpy.uint8), numpy.zeros((4, 4, 3), numpy.float32)):
        with pytest.raises(fdconvert.UsageError, match="height, width, 3"):
            T.apply([], wrong)
