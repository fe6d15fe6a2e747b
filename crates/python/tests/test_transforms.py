"""Lists of transforms: torchvision's results for the drawn numbers, keys, and refusals."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import fdconvert
from fdconvert import transforms as T

SIZES = [(1, 1), (1, 7), (7, 5), (33, 20), (48, 64), (101, 77), (240, 320)]


def image(height: int, width: int, seed: int) -> Any:
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x * random.uniform(0.01, 0.3) + y * random.uniform(0.01, 0.3) + c) for c in range(3)]
    levels = 127 + 90 * numpy.stack(waves, axis=-1) + random.uniform(-30, 30, (height, width, 3))
    return levels.clip(0, 255).astype(numpy.uint8)


def by_torchvision(changes: list[Any], array: Any) -> Any:
    """The changes, one after the other, by torchvision's functional forms on a tensor."""
    torch = pytest.importorskip("torch")
    F = pytest.importorskip("torchvision.transforms.v2.functional")
    tensor = torch.from_numpy(array).permute(2, 0, 1).contiguous()
    for change in changes:
        name: str
        arguments: Any
        name, arguments = (change, None) if isinstance(change, str) else next(iter(change.items()))
        if name == "resize":
            tensor = F.resize(tensor, arguments["size"], arguments["interpolation"], antialias=True)
        elif name == "crop":
            top, left, height, width = (arguments[it] for it in ("top", "left", "height", "width"))
            # torchvision's crop pads with black, but not on both sides.
            _, rows, columns = tensor.shape
            padding = [max(0, -left), max(0, -top), max(0, left + width - columns), max(0, top + height - rows)]
            tensor = F.pad(tensor, padding)
            tensor = F.crop(tensor, top + padding[1], left + padding[0], height, width)
        elif name == "pad":
            fill = [float(it) for it in arguments["fill"]]
            mode = arguments["padding_mode"]
            tensor = F.pad(tensor, arguments["padding"], fill if mode == "constant" else 0, mode)
        elif name == "warp":
            kind, warp = next(iter(arguments["warp"].items()))
            more = {
                "interpolation": getattr(F.InterpolationMode, arguments["interpolation"].upper()),
                "fill": [float(it) for it in arguments["fill"]],
            }
            if kind == "perspective":
                tensor = F.perspective(tensor, warp["startpoints"], warp["endpoints"], **more)
            else:
                tensor = getattr(F, kind)(tensor, **warp, **more)
        elif name == "mix":
            original = tensor
            mixed = arguments["weight"] * original.float()
            for chain in arguments["chains"]:
                changed = original.permute(1, 2, 0).contiguous().numpy()
                made = by_torchvision(chain["changes"], changed)
                mixed = mixed + chain["weight"] * torch.from_numpy(made).permute(2, 0, 1)
            tensor = mixed.to(torch.uint8)
        elif name == "erase":
            value = torch.tensor(arguments["value"]["constant"], dtype=torch.uint8)[:, None, None]
            at = [arguments[it] for it in ("top", "left", "height", "width")]
            tensor = F.erase(tensor, *at, value)
        elif name == "grayscale":
            tensor = F.rgb_to_grayscale(tensor, 3)
        elif name == "gaussian_blur":
            tensor = F.gaussian_blur(tensor, arguments["kernel_size"], arguments["sigma"])
        elif arguments is None:
            tensor = getattr(F, name)(tensor)
        else:
            tensor = getattr(F, name)(tensor, arguments)
    return tensor.permute(1, 2, 0).contiguous().numpy()


LISTS: dict[str, list[Any]] = {
    "resize": [T.Resize((31, 40))],
    "short": [T.Resize(24)],
    "short_long": [T.Resize(24, max_size=30)],
    "center": [T.CenterCrop((30, 41))],
    "eval": [T.Resize(40), T.CenterCrop(32)],
    "crop": [T.RandomCrop(16, padding=3, pad_if_needed=True)],
    "crop_edge": [T.RandomCrop((20, 9), pad_if_needed=True, padding_mode="edge")],
    "rrc": [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.RandomVerticalFlip()],
    "jitter": [T.ScaleJitter((40, 40), (0.5, 1.5)), T.RandomHorizontalFlip(1.0)],
    "letterbox": [T.Letterbox((40, 60), fill=114)],
    "pad": [T.Pad((1, 2, 3, 4), fill=(10, 20, 30)), T.RandomHorizontalFlip(1.0)],
    "rotation": [T.RandomRotation(45, fill=9)],
    "rotation_bilinear": [T.RandomRotation((10, 80), interpolation="bilinear", expand=True)],
    "affine": [T.RandomAffine(30, (0.2, 0.3), (0.7, 1.4), (-10, 10, -5, 5), fill=(1, 2, 3))],
    "affine_bilinear": [T.RandomAffine(30, shear=10, interpolation="bilinear")],
    "color": [T.ColorJitter(0.8, 0.8, 0.8, 0.2)],
    "gray": [T.Grayscale()],
    "tables": [T.RandomInvert(), T.RandomPosterize(3), T.RandomSolarize(128)],
    "histograms": [T.RandomAutocontrast(), T.RandomEqualize()],
    "sharpness": [T.RandomAdjustSharpness(1.7, p=1.0)],
    "erasing": [T.RandomErasing(1.0, value=(7, 8, 9))],
    "autoaugment": [T.AutoAugment()],
    "randaugment": [T.RandAugment(3, 17)],
    "trivial": [T.TrivialAugmentWide()],
    "augmix": [T.AugMix(interpolation="nearest")],
    "containers": [
        T.RandomApply([T.Grayscale()], 0.5),
        T.RandomChoice([T.RandomInvert(1.0), T.RandomPosterize(2, 1.0)], [1, 3]),
        T.RandomOrder([T.RandomSolarize(99, 1.0), T.ColorJitter(0.4)]),
    ],
}
NEEDS_ROOM: dict[str, list[Any]] = {"blur": [T.GaussianBlur(5, (0.1, 2.0))], "perspective": [T.RandomPerspective(0.4, 1.0)]}
RESIZES = {"resize", "short", "short_long", "eval", "rrc", "jitter", "letterbox"}


@pytest.mark.parametrize("name", [*LISTS, *NEEDS_ROOM])
def test_results_are_torchvisions(name: str) -> None:
    transforms = LISTS.get(name) or NEEDS_ROOM[name]
    levels, different = 0, 0
    for number in range(60):
        height, width = SIZES[number % len(SIZES)]
        if name in NEEDS_ROOM and min(height, width) < 8:
            continue
        source = image(height, width, number)
        key = {"seed": number, "epoch": 1, "sample": 5, "view": number % 3}
        changes = T.draw(transforms, (height, width), **key)
        expected = by_torchvision(changes, source)
        found = numpy.asarray(T.apply(transforms, source, **key))
        assert found.shape == expected.shape, changes
        apart = numpy.abs(found.astype(int) - expected)
        assert apart.max(initial=0) <= 1, (changes, apart.max())
        levels, different = levels + apart.size, different + int((apart > 0).sum())
    # A resize has weights of fewer bits here.
    assert different <= (levels * 0.25 if name in RESIZES else levels / 1000), (different, levels)


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
