"""``fdconvert.torch.loader`` in the place of ``ImageFolder`` and ``DataLoader``, judged by both."""

import contextlib
import inspect
import io
import json
import pickle
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from conftest import KODAK
from fdconvert import transforms as T
from test_reference import documented, shown

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
v1: Any = pytest.importorskip("torchvision.transforms", reason="torchvision is not installed")
v2: Any = pytest.importorskip("torchvision.transforms.v2")
data: Any = pytest.importorskip("torch.utils.data")
presets: Any = pytest.importorskip("torchvision.transforms._presets")
image_tensor: Any = pytest.importorskip("torchvision.tv_tensors").Image
ImageFolder: Any = pytest.importorskip("torchvision.datasets").ImageFolder

from fdconvert.torch import FolderLoader, loader  # noqa: E402

MEAN, STD = T.IMAGENET_MEAN, T.IMAGENET_STD
BICUBIC, NEAREST = v1.InterpolationMode.BICUBIC, v1.InterpolationMode.NEAREST
FLOATS = [T.ToDtype("f32"), T.ToLayout("nchw")]
PAGE = Path(__file__).parents[3] / "docs" / "guide" / "torch.md"
NORMALIZED = [T.Normalize(MEAN, STD), *FLOATS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve photos without loss in three classes; one class has a folder within."""
    root = tmp_path_factory.mktemp("folder")
    for number, photo in enumerate(sorted(KODAK.glob("*.png"))[:12]):
        into = root / ["b", "A", "c d"][number % 3] / ("" if number % 4 else "A nested one")
        into.mkdir(parents=True, exist_ok=True)
        shutil.copy(photo, into)
    return root


def images_of(made: Any) -> Any:
    return torch.cat([images for images, _ in made])


def listed(made: FolderLoader) -> list[Any]:
    """The transforms of a loader, as its checkpoints show them."""
    shown: list[Any] = made.state_dict()["views"]["images"][1]
    return shown


def specs(transforms: list[T.Transform]) -> Any:
    return json.loads(json.dumps([it.spec for it in transforms]))


def runs(made: FolderLoader) -> list[str]:
    return [step.runs for step in made.plan]


def test_neither_torch_nor_torchvision_is_imported_before_its_time(folder: Path) -> None:
    script = """
import sys, fdconvert
assert "torch" not in sys.modules
import fdconvert.torch
assert "torch" in sys.modules and "torchvision" not in sys.modules
assert fdconvert.TorchIterable is fdconvert.torch.TorchIterable
fdconvert.torch.loader(sys.argv[1], 4, transform=fdconvert.transforms.imagenet_eval(32))
assert "torchvision" not in sys.modules
"""
    subprocess.run([sys.executable, "-P", "-c", script, folder], check=True)


class TestPresets:
    """What torchvision's reference training of classification does to images."""

    def evaluation(self, v: Any) -> Any:
        to_tensor = [v.PILToTensor(), v.ConvertImageDtype(torch.float)]
        return v.Compose([v.Resize(72), v.CenterCrop(64), *to_tensor, v.Normalize(MEAN, STD)])

    @pytest.mark.parametrize("kind", ["v1", "v2", "preset", "sequential"])
    def test_evaluation_shows_the_same_pixels(self, folder: Path, kind: str) -> None:
        transform = {
            "v1": lambda: self.evaluation(v1),
            "v2": lambda: self.evaluation(v2),
            "preset": lambda: presets.ImageClassification(crop_size=64, resize_size=72),
            "sequential": lambda: torch.nn.Sequential(*self.evaluation(v2).transforms),
        }[kind]()
        theirs = ImageFolder(folder, transform)
        made = loader(theirs, 5)
        assert set(runs(made)) == {"native"}
        assert listed(made) == specs([T.Resize(72), T.CenterCrop(64), *NORMALIZED])
        assert isinstance(made, fdconvert.Loader) and len(made) == 3
        assert made.classes == theirs.classes and made.class_to_idx == theirs.class_to_idx
        assert len(made.dataset) == len(theirs)
        far = torch.zeros(0)
        for (images, labels), (expected, targets) in zip(made, data.DataLoader(theirs, 5), strict=True):
            assert torch.equal(labels, targets)
            assert images.dtype == expected.dtype and images.shape == expected.shape
            levels = (images - expected).abs() * torch.tensor(STD)[:, None, None] * 255
            far = torch.cat([far, levels.flatten()])
        # A resize has weights of fewer bits here.
        assert far.max() < 1.01 and (far > 0.01).float().mean() < 0.25

    def test_training_is_native(self, folder: Path) -> None:
        transform = v2.Compose([
            v2.RandomResizedCrop(64), v2.RandomHorizontalFlip(), v2.TrivialAugmentWide(),
            v2.PILToTensor(), v2.ToDtype(torch.float, scale=True), v2.Normalize(MEAN, STD),
            v2.RandomErasing(0.1),
        ])  # fmt: skip
        made = loader(folder, 5, transform=transform, shuffle=True, drop_last=True, seed=7)
        assert runs(made) == ["native"] * 7 and len(made) == 2
        # Zero after `Normalize` is the mean.
        native = [T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.TrivialAugmentWide(),
                  T.RandomErasing(0.1, value=(124, 116, 104)), *NORMALIZED]  # fmt: skip
        plain = fdconvert.Loader(
            folder, 5, seed=7, transform=native, orient=False, output="torch", ranks=fdconvert.Ranks(last="drop")
        )
        for (images, labels), (expected, targets) in zip(made, plain, strict=True):
            assert torch.equal(images, expected) and torch.equal(labels, targets)


NATIVE: dict[str, tuple[Callable[[Any], list[Any]], list[T.Transform]]] = {
    "augmix": (lambda v: [v.AugMix(2, 4, 3, 0.5, False, NEAREST, 9)],
               [T.AugMix(2, 4, 3, 0.5, False, "nearest", 9)]),
    "autoaugment": (lambda v: [v.AutoAugment(v.AutoAugmentPolicy.SVHN)], [T.AutoAugment("svhn")]),
    "center": (lambda v: [v.CenterCrop((30, 40))], [T.CenterCrop((30, 40))]),
    "jitter": (lambda v: [v.ColorJitter(0.4, (0.5, 1.5), hue=0.1)], [T.ColorJitter(0.4, (0.5, 1.5), hue=0.1)]),
    "blur": (lambda v: [v.GaussianBlur((3, 5), (0.1, 2))], [T.GaussianBlur((3, 5), (0.1, 2))]),
    "gray": (lambda v: [v.Grayscale(3), v.RandomGrayscale(0.2)], [T.Grayscale(3), T.RandomGrayscale(0.2)]),
    "pad": (lambda v: [v.Pad((1, 2, 3, 4), (7, 8, 9))], [T.Pad((1, 2, 3, 4), (7, 8, 9))]),
    "pad by edges": (lambda v: [v.Pad((1, 2), padding_mode="edge")], [T.Pad((1, 2), padding_mode="edge")]),
    "randaugment": (lambda v: [v.RandAugment(3, 7)], [T.RandAugment(3, 7)]),
    "trivial": (lambda v: [v.TrivialAugmentWide(fill=[1, 2, 3])], [T.TrivialAugmentWide(fill=[1, 2, 3])]),
    "sharpness": (lambda v: [v.RandomAdjustSharpness(2, 0.3)], [T.RandomAdjustSharpness(2, 0.3)]),
    "affine": (lambda v: [v.RandomAffine(9, (0.1, 0.2), (0.8, 1.2), 5)],
               [T.RandomAffine(9, (0.1, 0.2), (0.8, 1.2), 5)]),
    "levels": (lambda v: [v.RandomAutocontrast(0.1), v.RandomEqualize(0.2), v.RandomInvert(0.3),
                          v.RandomPosterize(3, 0.4), v.RandomSolarize(99, 0.6)],
               [T.RandomAutocontrast(0.1), T.RandomEqualize(0.2), T.RandomInvert(0.3),
                T.RandomPosterize(3, 0.4), T.RandomSolarize(99, 0.6)]),
    "crop": (lambda v: [v.RandomCrop(32, 4, True, 5, "reflect")], [T.RandomCrop(32, 4, True, 5, "reflect")]),
    "flips": (lambda v: [v.RandomHorizontalFlip(0.3), v.RandomVerticalFlip(0.2)],
              [T.RandomHorizontalFlip(0.3), T.RandomVerticalFlip(0.2)]),
    "perspective": (lambda v: [v.RandomPerspective(0.3, 0.7)], [T.RandomPerspective(0.3, 0.7)]),
    "rotation": (lambda v: [v.RandomRotation(20, expand=True, fill=3)], [T.RandomRotation(20, expand=True, fill=3)]),
    "rrc": (lambda v: [v.RandomResizedCrop((30, 40), (0.2, 0.9), (0.5, 2))],
            [T.RandomResizedCrop((30, 40), (0.2, 0.9), (0.5, 2))]),
    "sides": (lambda v: [v.Resize([30, 40])], [T.Resize([30, 40])]),
    "short side": (lambda v: [v.Resize(30, max_size=50)], [T.Resize(30, max_size=50)]),
    "apply": (lambda v: [v.RandomApply([v.ColorJitter(0.4), v.RandomVerticalFlip()], 0.7)],
              [T.RandomApply([T.ColorJitter(0.4), T.RandomVerticalFlip()], 0.7)]),
    "order": (lambda v: [v.RandomOrder([v.RandomInvert(), v.RandomRotation(5)])],
              [T.RandomOrder([T.RandomInvert(), T.RandomRotation(5)])]),
    "choice": (lambda v: [v.RandomChoice([v.Resize(20), v.CenterCrop(20)], p=[0.25, 0.75])],
               [T.RandomChoice([T.Resize(20), T.CenterCrop(20)], [0.25, 0.75])]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:The transform `ToTensor")
@pytest.mark.parametrize("v", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("name", NATIVE)
def test_native(beton: Path, v: Any, name: str) -> None:
    theirs, ours = NATIVE[name]
    end: list[Any] = [v.CenterCrop(16), v.ToTensor()]
    made = loader(beton, transform=v.Compose([v.Compose(theirs(v)), *end]))
    assert listed(made) == specs([*ours, T.CenterCrop(16), *FLOATS])
    assert set(runs(made)) == {"native"}
    assert next(iter(made))[0].shape == (1, 3, 16, 16)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ([v2.ToImage(), v2.Resize(20, NEAREST), v2.CenterCrop(16), v2.ToPureTensor()],
         [T.Resize(20, "nearest"), T.CenterCrop(16), T.ToDtype("u8"), T.ToLayout("nchw")]),
        ([v2.RGB(), v2.Identity(), v2.ScaleJitter((40, 40)), v2.CenterCrop(16), v2.ToImage()],
         [T.ScaleJitter((40, 40)), T.CenterCrop(16), T.ToDtype("u8"), T.ToLayout("nchw")]),
        ([v1.ToTensor(), v1.RandomCrop(16, 2), v1.RandomHorizontalFlip()],
         [T.RandomCrop(16, 2), T.RandomHorizontalFlip(), *FLOATS]),
        ([v1.PILToTensor(), v1.ToPILImage(), v1.CenterCrop(16), v1.ToTensor(), v1.Normalize([0.5], [0.25])],
         [T.CenterCrop(16), T.Normalize([0.5] * 3, [0.25] * 3), *FLOATS]),
        ([v2.CenterCrop(16), v2.ToImage(), v2.ToDtype(torch.float16, scale=True)],
         [T.CenterCrop(16), T.ToDtype("f16"), T.ToLayout("nchw")]),
        ([v1.CenterCrop(16), v1.ToTensor(), v1.RandomErasing(0.2, (0.1, 0.3), (0.5, 2), (1, 0, 0.5))],
         [T.CenterCrop(16), T.RandomErasing(0.2, (0.1, 0.3), (0.5, 2), (255, 0, 128)), *FLOATS]),
        ([v1.CenterCrop(16), v1.PILToTensor(), v1.RandomErasing(value=7)],
         [T.CenterCrop(16), T.RandomErasing(value=7), T.ToDtype("u8"), T.ToLayout("nchw")]),
    ],
)  # fmt: skip
def test_the_form_of_rows(beton: Path, theirs: list[Any], ours: list[T.Transform]) -> None:
    made = loader(beton, 4, transform=v1.Compose(theirs))
    assert listed(made) == specs(ours)
    images, _ = next(iter(made))
    assert images.shape == (4, 3, 16, 16) and images.dtype == _dtype_there(theirs)


def _dtype_there(theirs: list[Any]) -> Any:
    from PIL import Image

    return v1.Compose(theirs)(Image.new("RGB", (60, 50))).dtype


class Cropped(v1.CenterCrop):  # type: ignore[misc]
    """Something else by the same name."""

    def forward(self, image: Any) -> Any:
        return super().forward(image)


OTHERS: dict[str, tuple[list[Any], str]] = {
    "bicubic": ([v1.Resize(20, BICUBIC)], 'interpolation="bicubic"'),
    "bicubic crop": ([v2.RandomResizedCrop(16, interpolation=BICUBIC)], 'interpolation="bicubic"'),
    "nearest exact": ([v2.Resize(20, v1.InterpolationMode.NEAREST_EXACT)], "nearest-exact"),
    "nearest of PIL": ([v1.Resize(20, NEAREST)], "PIL takes other pixels"),
    "bicubic rotation": ([v2.ToImage(), v2.RandomRotation(9, BICUBIC)], 'interpolation="bicubic"'),
    "antialias": ([v1.PILToTensor(), v1.Resize(20, antialias=False)], "antialias=False"),
    "antialias of a crop": ([v2.ToImage(), v2.RandomResizedCrop(16, antialias=False)], "antialias=False"),
    "jitter by antialias": ([v2.ToImage(), v2.ScaleJitter((40, 40), antialias=False)], "antialias"),
    "jitter by nearest": ([v2.ToImage(), v2.ScaleJitter((40, 40), interpolation=NEAREST)], "nearest"),
    "one channel": ([v1.Grayscale()], "num_output_channels"),
    "scale": ([v2.ToImage(), v2.ToDtype(torch.float32)], "scale=False"),
    "dtype": ([v2.ToImage(), v2.ToDtype(torch.float64, scale=True)], "dtype=torch.float64"),
    "dtype of PIL": ([v2.ToDtype(torch.float32, scale=True)], "nothing to images of PIL"),
    "dtypes": ([v2.ToImage(), v2.ToDtype({torch.Tensor: torch.float32, "others": None})], "dtype="),
    "noise": ([v1.ToTensor(), v1.RandomErasing(value="random")], 'value="random"'),
    "too bright": ([v1.ToTensor(), v1.RandomErasing(value=2)], "0 to 255"),
    "colours of floats": ([v1.ToTensor(), v1.ColorJitter(0.4)], "after the conversion to floats"),
    "colours within": ([v1.ToTensor(), v1.RandomApply([v1.ColorJitter(0.4)])], "after the conversion to floats"),
    "fill of floats": ([v1.ToTensor(), v1.Pad(2, 0.5)], "`fill`"),
    "resize of normalised": ([v1.ToTensor(), v1.Normalize(MEAN, STD), v1.Resize(20)], "after the conversion"),
    "normalised twice": ([v1.ToTensor(), *[v1.Normalize(MEAN, STD)] * 2], "not normalised yet"),
    "not here": ([v2.ElasticTransform()], "no such transform"),
    "within": ([v1.RandomApply([v2.RandomPhotometricDistort()])], "no such transform"),
    "form within": ([v2.RandomApply([v2.ToImage()])], "the form of rows is not"),
    "derived": ([Cropped(20)], "not a transform of torchvision"),
    "lambda": ([v1.Lambda(lambda image: image)], "no such transform"),
    "function": ([lambda image: image], "not a transform of torchvision"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_not_native(beton: Path, name: str) -> None:
    theirs, why = OTHERS[name]
    made = loader(beton, 4, transform=v1.Compose([*theirs, v2.CenterCrop(16), v2.ToImage()]))
    first = runs(made).index("in Python")
    assert first == len(theirs) - 1 and set(runs(made)[first:]) == {"in Python"}
    assert why in made.plan[first].why, made.plan[first]
    assert all("it comes after" in step.why for step in made.plan[first + 1 :])
    assert "in Python" in str(made.plan[first])
    assert listed(made)[-1].keys() == {"Function"}


class Preset:
    def __init__(self) -> None:
        self.transforms = v1.Compose([v1.CenterCrop(16), v1.ToTensor()])

    def __call__(self, image: Any) -> Any:
        return self.transforms(image)


def test_objects_with_a_list_are_told_apart(folder: Path) -> None:
    made = loader(folder, 4, transform=Preset())
    (step,) = made.plan
    assert step.runs == "in Python" and "`transforms`" in step.why
    assert torch.equal(images_of(made), images_of(loader(folder, 4, transform=Preset().transforms)))


class TestPython:
    """Transforms that run as they are."""

    @pytest.mark.parametrize(
        "transforms",
        [
            [v1.Resize((40, 50), BICUBIC), v1.ToTensor()],
            [v1.CenterCrop(64), v1.Lambda(lambda image: image.rotate(30).quantize().convert("RGB")), v1.ToTensor()],
            [v2.CenterCrop(64), v2.ToImage(), v2.Resize(20, antialias=False), v2.ToDtype(torch.float32)],
            [v1.CenterCrop(64), v1.ToTensor(), v1.Normalize(MEAN, STD), v1.Resize((9, 9))],
            # Of any size before, and of one after.
            [v1.ToTensor(), v1.Lambda(lambda image: image[:, :5, :7])],
            [v1.FiveCrop(10), v1.Lambda(lambda crops: torch.stack([v1.ToTensor()(it) for it in crops]))],
        ],
    )
    def test_results_are_theirs(self, folder: Path, transforms: list[Any]) -> None:
        theirs = ImageFolder(folder, v1.Compose(transforms))
        made = loader(theirs, 5)
        assert "in Python" in runs(made)
        for (images, labels), (expected, targets) in zip(made, data.DataLoader(theirs, 5), strict=True):
            assert images.dtype == expected.dtype and images.shape == expected.shape
            torch.testing.assert_close(images, expected, rtol=0, atol=1e-5)
            assert torch.equal(labels, targets)

    @pytest.mark.parametrize(
        ("before", "kind"),
        [
            ([v1.CenterCrop(16)], "PIL.Image.Image (16, 16)"),
            ([v1.CenterCrop(16), v1.PILToTensor()], "torch.Tensor torch.uint8 (3, 16, 16)"),
            ([v1.CenterCrop(16), v1.ToTensor()], "torch.Tensor torch.float32 (3, 16, 16)"),
            ([v2.CenterCrop(16), v2.ToImage()], f"{image_tensor.__module__}.Image torch.uint8 (3, 16, 16)"),
        ],
    )
    def test_images_are_of_the_kind_that_torchvision_has_there(
        self, beton: Path, before: list[Any], kind: str
    ) -> None:
        seen = set()

        def look(image: Any) -> Any:
            dtype = f" {image.dtype}" if hasattr(image, "dtype") else ""
            size = image.size if not dtype else tuple(image.shape)
            seen.add(f"{type(image).__module__}.{type(image).__name__}{dtype} {size}")
            return v2.functional.to_image(image)

        images_of(loader(beton, 4, transform=v1.Compose([*before, look])))
        assert seen == {kind}

    def test_one_size_is_not_needed_before_the_batch(self, tmp_path: Path) -> None:
        for number in range(4):
            (tmp_path / "a").mkdir(exist_ok=True)
            shutil.copy(sorted(KODAK.glob("*.png"))[0], tmp_path / "a" / f"{number}.png")
        theirs = ImageFolder(tmp_path, v1.ToTensor())
        made = loader(theirs, 2)
        assert runs(made) == ["native"]
        assert torch.equal(images_of(made), images_of(data.DataLoader(theirs, 2)))


def drawn(image: Any) -> Any:
    """A number from each source of them, in the place of an image."""
    numbers = [random.random(), np.random.random(), torch.rand(()).item()]
    return torch.tensor(numbers, dtype=torch.float64)


class TestDraws:
    """What transforms draw in Python follows from the seed alone."""

    transform = v1.Compose([v1.RandomCrop(16), v1.RandomApply([v1.Lambda(lambda image: image)], 0.5), drawn])

    def rows(self, made: FolderLoader) -> dict[int, list[float]]:
        return {
            int(sample): image.tolist()
            for batch in made.batches()
            for sample, image in zip(batch.samples, batch.images, strict=True)
        }

    def test_any_number_of_threads_batches_and_ranks_draws_the_same(self, beton: Path) -> None:
        options: dict[str, Any] = {"transform": self.transform, "shuffle": True}
        expected = self.rows(loader(beton, 4, seed=3, **options))
        assert len(expected) == 12 and len({tuple(row) for row in expected.values()}) == 12
        assert all(len(set(row)) == 3 for row in expected.values())
        for n_threads, batch_size in [(1, 4), (3, 4), (2, 5)]:
            assert self.rows(loader(beton, batch_size, seed=3, num_workers=n_threads, **options)) == expected
        ranks = [
            self.rows(loader(beton, 3, seed=3, ranks=fdconvert.Ranks(rank, 2), **options)) for rank in range(2)
        ]
        assert ranks[0] | ranks[1] == expected and not ranks[0].keys() & ranks[1].keys()
        assert self.rows(loader(beton, 4, seed=4, **options)) != expected

    def test_epochs_differ_and_resume(self, beton: Path) -> None:
        def make() -> FolderLoader:
            return loader(beton, 4, seed=3, shuffle=True, transform=self.transform)

        made = make()
        first, second = images_of(made), images_of(made)
        assert not set(first.flatten().tolist()) & set(second.flatten().tolist())
        made.set_epoch(1)
        batches = iter(made)
        next(batches)
        again = make()
        again.load_state_dict(json.loads(json.dumps(made.state_dict())))
        assert again.epoch == 1
        assert torch.equal(images_of(again), second[4:])

    def test_the_training_draws_as_if_nothing_had_been(self, beton: Path) -> None:
        def numbers(loop: Any) -> list[float]:
            random.seed(1)
            np.random.seed(1)
            torch.manual_seed(1)
            for _ in loop:
                pass
            return [random.random(), np.random.random(), torch.rand(()).item()]

        assert numbers(loader(beton, 4, transform=self.transform)) == numbers([])

    def test_a_sample_that_comes_again_draws_again(self, beton: Path) -> None:
        made = loader(beton, 2, transform=self.transform, sampler=[0, 0, 0, 0])
        assert len(set(images_of(made).flatten().tolist())) == 12


class TestFolders:
    """Samples of ``ImageFolder``."""

    eval = v1.Compose([v1.CenterCrop(16), v1.PILToTensor()])

    def test_nested_folders_and_subsets_have_its_order(self, folder: Path, tmp_path: Path) -> None:
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        (tmp_path / "b" / "Z last").mkdir()
        shutil.copy(next(iter((tmp_path / "b").glob("*.png"))), tmp_path / "b" / "Z last" / "1.png")
        theirs = ImageFolder(tmp_path, self.eval, is_valid_file=lambda path: not path.endswith("_01.png"))
        for dataset in (theirs, data.Subset(theirs, [7, 0, 3]), data.Subset(data.Subset(theirs, [5, 1, 2]), [2, 0])):
            made, judge = loader(dataset, 4), data.DataLoader(dataset, 4)
            assert torch.equal(images_of(made), images_of(judge))
            assert [it.tolist() for _, it in made] == [it.tolist() for _, it in judge]
        assert made.class_to_idx == theirs.class_to_idx == {"A": 0, "b": 1, "c d": 2}

    def test_a_path_has_the_order_of_its_dataset(self, folder: Path) -> None:
        made = loader(folder, 12, transform=self.eval)
        ((_, labels),) = list(made)
        assert labels.tolist() == fdconvert.Dataset(folder).labels() == sorted(labels.tolist())

    def test_photos_are_not_turned(self, tmp_path: Path) -> None:
        image = pytest.importorskip("PIL.Image")
        exif = image.Exif()
        exif[0x0112] = 6
        (tmp_path / "a").mkdir()
        with image.open(sorted(KODAK.glob("*.png"))[0]) as photo:
            photo.convert("RGB").save(tmp_path / "a" / "1.jpg", exif=exif)
        theirs = ImageFolder(tmp_path, v1.PILToTensor())
        assert torch.equal(images_of(loader(theirs)), images_of(data.DataLoader(theirs)))
        turned = images_of(loader(theirs, orient=True))
        assert turned.shape[2:] == images_of(loader(theirs)).shape[:1:-1]

    def test_a_rank_may_have_no_rows(self, folder: Path) -> None:
        for transform in (v1.ToTensor(), v1.Compose([v1.Resize(20, BICUBIC), self.eval])):
            dataset = fdconvert.Dataset(folder).select([0, 1, 2])
            made = loader(dataset, 2, transform=transform, ranks=fdconvert.Ranks(1, 2))
            assert [len(images) for images, _ in made] == [1]
            made = loader(dataset, 1, transform=transform, ranks=fdconvert.Ranks(1, 2))
            assert [(len(images), len(labels)) for images, labels in made] == [(1, 1), (0, 0)]

    def test_large_jpegs_are_near(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "fdconvert", "sample", str(tmp_path / "photos"), "--quiet"]
        subprocess.run(command, check=True)
        for side, mean, most in [(100, 0.25, 1), (40, 3, 255)]:
            theirs = ImageFolder(tmp_path / "photos", v1.Compose([v1.Resize(side), self.eval]))
            made = loader(theirs, 4)
            apart = (images_of(made).int() - images_of(data.DataLoader(theirs, 4)).int()).abs()
            assert apart.float().mean() < mean and apart.max() <= most

    def test_a_pickled_loader_has_its_plan(self, folder: Path) -> None:
        made = loader(folder, 4, transform=v1.Compose([v1.Resize(20, BICUBIC), self.eval]))
        assert runs(made) == ["in Python"] * 3
        expected = images_of(made)
        made.set_epoch(0)
        next(iter(made))
        again = pickle.loads(pickle.dumps(made))
        assert again.plan == made.plan and again.class_to_idx == made.class_to_idx
        assert torch.equal(images_of(again), expected[4:])

    def test_our_own_lists_are_taken_as_they_are(self, folder: Path) -> None:
        ours = [T.Resize(20), T.CenterCrop(16), T.RandomErasing()]
        made = loader(folder, 4, transform=ours)
        assert listed(made) == specs(ours) and set(runs(made)) == {"native"}
        assert listed(loader(folder, transform=T.CenterCrop(16))) == specs([T.CenterCrop(16)])
        views = loader(folder, 4, transform=ours, views=2)
        assert next(iter(views))[0].shape == (2, 4, 16, 16, 3)


class TestSamplers:
    """Samplers of torch that have a counterpart."""

    def samples(self, path: Path, sampler: Any, **options: Any) -> list[int]:
        transform = v1.Compose([v1.CenterCrop(16), v1.PILToTensor()])
        made = loader(path, 4, sampler=sampler, transform=transform, **options)
        keys = {fdconvert.Dataset(path).key(number): number for number in range(12)}
        return [keys[made.dataset.key(sample)] for batch in made.batches() for sample in batch.samples.tolist()]

    def test_orders(self, beton: Path) -> None:
        assert self.samples(beton, None) == list(range(12))
        assert self.samples(beton, data.SequentialSampler(range(12))) == list(range(12))
        shuffled = self.samples(beton, None, shuffle=True)
        assert sorted(shuffled) == list(range(12)) != shuffled
        assert self.samples(beton, data.RandomSampler(range(12))) == shuffled
        assert self.samples(beton, [3, 1, 3]) == [3, 1, 3]
        assert sorted(self.samples(beton, data.SubsetRandomSampler([3, 8, 5]))) == [3, 5, 8]
        assert sorted(self.samples(beton, fdconvert.Repeated(2))) == sorted([*range(12)] * 2)

    def test_weights(self, beton: Path) -> None:
        weights = [0.0, 1.0, 2.0] * 4
        drawn = self.samples(beton, data.WeightedRandomSampler(weights, 40))
        assert len(drawn) == 40 and not any(sample % 3 == 0 for sample in drawn)
        drawn = self.samples(beton, data.WeightedRandomSampler(weights, 5, replacement=False))
        assert len(set(drawn)) == 5

    @pytest.mark.parametrize(("n_ranks", "drop_last"), [(2, True), (5, False)])
    def test_ranks(self, beton: Path, n_ranks: int, drop_last: bool) -> None:
        samplers = [data.DistributedSampler(range(12), n_ranks, rank, seed=9) for rank in range(n_ranks)]
        ranks = [self.samples(beton, sampler, drop_last=drop_last) for sampler in samplers]
        # Without `drop_last` some come again, so that each rank has as many.
        assert [len(rank) for rank in ranks] == [4] * n_ranks
        assert len({sample for rank in ranks for sample in rank}) == min(12, 4 * n_ranks)
        assert ranks[0] != self.samples(beton, data.DistributedSampler(range(12), n_ranks, 0), drop_last=drop_last)
        in_order = data.DistributedSampler(range(12), 1, 0, shuffle=False)
        assert self.samples(beton, in_order) == list(range(12))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "batch sampler": ({"batch_sampler": [[0]]}, "batch_sampler: .*`batch_size`"),
    "collate": ({"collate_fn": data.default_collate}, "collate_fn: .*in the loop"),
    "generator": ({"generator": torch.Generator()}, r"generator: .*seed=generator.initial_seed\(\)"),
    "target": ({"target_transform": int}, "target_transform: .*classes"),
    "workers": ({"worker_init_fn": int}, "worker_init_fn: .*`seed`"),
    "output": ({"output": "numpy"}, "output: .*fdconvert.Loader"),
    "sampling": ({"sampling": fdconvert.Shuffle()}, "sampling: .*`sampler`"),
    "both": ({"shuffle": True, "sampler": [0]}, "shuffle: .*leave one"),
    "sampler": ({"sampler": data.RandomSampler(range(12), True, 5)}, "sampler: RandomSampler .*fdconvert.Order"),
    "ranks": ({"drop_last": True, "ranks": fdconvert.Ranks(0, 1)}, "drop_last: .*last"),
    "ranks twice": (
        {"sampler": data.DistributedSampler(range(12), 2, 0), "ranks": fdconvert.Ranks(0, 1)}, "ranks: .*leave one"
    ),
    "rest": ({"sampler": data.DistributedSampler(range(12), 2, 0, drop_last=True)}, "sampler: .*drop_last=True"),
    "PIL": ({"transform": v1.CenterCrop(16)}, "transform: .*ToTensor"),
    "nothing": ({"transform": None}, "transform: .*ToTensor"),
    "mixed": ({"transform": [T.CenterCrop(16), v1.ToTensor()]}, "transform: .*not both"),
    "views": ({"transform": v1.Compose([Cropped(9), v1.ToTensor()]), "views": 2}, "transform: .*`views`.*Cropped"),
    "sizes": ({"transform": v1.ToTensor(), "sizes": "own"}, "transform: .*`sizes`.*crop"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_cure(beton: Path, name: str) -> None:
    options, words = REFUSED[name]
    plain = {"transform": v1.Compose([v1.CenterCrop(16), v1.ToTensor()])}
    with pytest.raises(fdconvert.UsageError, match=words):
        loader(beton, 4, **plain | options)


def test_what_an_image_folder_has_of_its_own_is_refused(folder: Path) -> None:
    with pytest.raises(fdconvert.UsageError, match="target_transform: .*in the loop"):
        loader(ImageFolder(folder, v1.ToTensor(), target_transform=lambda target: -target))
    with pytest.raises(fdconvert.UsageError, match="loader: .*pass the path"):
        loader(ImageFolder(folder, v1.ToTensor(), loader=lambda path: path))
    with pytest.raises(fdconvert.UsageError, match="transform: .*leave it out"):
        loader(ImageFolder(folder, v1.ToTensor()), transform=v1.ToTensor())


def test_options_of_workers_are_ignored(beton: Path) -> None:
    transform = v1.Compose([v1.CenterCrop(16), v1.ToTensor()])
    options: dict[str, Any] = {"persistent_workers": True, "prefetch_factor": 4, "timeout": 5, "in_order": True}
    made = loader(beton, 4, transform=transform, num_workers=2, collate_fn=None, generator=None, **options)
    assert made.stats()["threads"] == 2 and len(list(made)) == 3


def test_the_page_says_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, lines, said = re.findall(r"^```(?:python no-run[^\n]*|text)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    changed = before
    for line in lines.splitlines():
        old = r"^from torch.utils.data .*$" if line.startswith("import") else rf"^{line.split()[0]} = .*$"
        changed, n_found = re.subn(old, line, changed, flags=re.M)
        assert n_found == 1, line
    command = [sys.executable, "-m", "fdconvert", "sample", "photos", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    exec(before.replace("num_workers=2", "num_workers=0"), {})
    with contextlib.redirect_stdout(printed):
        exec(changed + '\nprint(*loader.plan, sep="\\n")\n', {})
    assert printed.getvalue() == said


def test_every_argument_is_in_the_reference() -> None:
    parameters = inspect.signature(loader).parameters.values()
    assert documented("torch.loader") == dict(map(shown, parameters))
    refused = PAGE.read_text()
    for name in ("collate_fn", "target_transform", "batch_sampler", "worker_init_fn", "generator"):
        assert f"`{name}`" in refused


ON_PIL: dict[str, tuple[Any, int, float]] = {
    "brightness": (v1.ColorJitter((1.3, 1.3)), 0, 0),
    "posterize": (v1.RandomPosterize(3, 1.0), 0, 0),
    "solarize": (v1.RandomSolarize(99, 1.0), 0, 0),
    "equalize": (v1.RandomEqualize(1.0), 0, 0),
    "sharpness": (v1.RandomAdjustSharpness(2, 1.0), 0, 0),
    "flip": (v1.RandomHorizontalFlip(1.0), 0, 0),
    "pad": (v1.Pad(4, padding_mode="symmetric"), 0, 0),
    "resize": (v1.Resize((30, 40)), 1, 0),
    "contrast": (v1.ColorJitter(0, (1.3, 1.3)), 1, 0),
    "saturation": (v1.ColorJitter(0, 0, (1.3, 1.3)), 1, 0),
    "gray": (v1.RandomGrayscale(1.0), 1, 0),
    "blur": (v1.GaussianBlur(5, (1.1, 1.1)), 1, 0),
    "autocontrast": (v1.RandomAutocontrast(1.0), 1, 0),
    "hue": (v1.ColorJitter(0, 0, 0, (0.1, 0.1)), 10, 0.15),
    "rotation": (v1.RandomRotation((17, 17)), 255, 0.001),
    "affine": (v1.RandomAffine((10, 10), None, (1.1, 1.1), (5, 5, 2, 2)), 255, 0.001),
    "bilinear rotation": (v1.RandomRotation((17, 17), v1.InterpolationMode.BILINEAR), 255, 0.033),
    "bilinear affine": (
        v1.RandomAffine((10, 10), None, (1.1, 1.1), interpolation=v1.InterpolationMode.BILINEAR), 255, 0.033
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_PIL)
def test_results_on_images_of_pil_are_near(folder: Path, name: str) -> None:
    transform, most, share_of_far = ON_PIL[name]
    theirs = ImageFolder(folder, v1.Compose([v1.CenterCrop((60, 80)), transform, v1.PILToTensor()]))
    made = loader(theirs, 4)
    assert set(runs(made)) == {"native"}
    apart = (images_of(made).int() - images_of(data.DataLoader(theirs, 4)).int()).abs()
    assert apart.max() <= most and (apart > 1).float().mean() <= share_of_far
