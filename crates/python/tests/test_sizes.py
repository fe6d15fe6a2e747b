"""Batches of several sizes: buckets, patches as timm has them, and images of their own sizes."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
import by_torchvision
from fdconvert import Buckets, Loader, Patches, UsageError
from fdconvert import transforms as T
from test_detection import DOCUMENTS, left, runs_of

SIZES = [(40, 40), (32, 48), (48, 32)]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty images of many shapes, with their numbers as labels."""
    out = tmp_path_factory.mktemp("sizes") / "o.wds"
    rng = np.random.default_rng(5)
    samples = []
    for number in range(30):
        height, width = rng.integers(20, 100, 2)
        noise = rng.integers(0, 255, (height, width, 3)).astype(np.uint8)
        samples.append({"image": noise, "label": number})
    fdconvert.pack(samples, out, schema={"image": "image", "label": "int"}, encode="png")
    return out


def made(path: Path, batch_size: int = 4, **options: Any) -> Loader:
    plain: dict[str, Any] = {"seed": 7, "threads": 2, "output": "numpy"}
    return Loader(path, batch_size, **plain | options)


def stored(path: Path) -> list[Any]:
    dataset = fdconvert.Dataset(path)
    return [np.asarray(fdconvert.decode(dataset.get(at)["image"]["bytes"])) for at in range(len(dataset))]


def test_batches_have_the_size_of_a_bucket(photos: Path) -> None:
    images = stored(photos)
    numbers = []
    loader = made(photos, sizes=Buckets(SIZES))
    for batch in loader.batches():
        size = batch.images.shape[1:3]
        for number, row in zip(batch.labels, batch.images):
            height, width = images[number].shape[:2]
            far = [max(width * h / (height * w), height * w / (width * h)) for h, w in SIZES]
            assert SIZES[int(np.argmin(far))] == size
            covered = T.Cover(size)
            np.testing.assert_array_equal(row, np.asarray(fdconvert.transforms.apply([covered], images[number])))
        numbers += batch.labels.tolist()
    assert sorted(numbers) == list(range(30)) and len(loader) > 30 // 4


def test_a_pickled_loader_and_other_ranks_continue_in_the_same_buckets(photos: Path) -> None:
    loader = made(photos, sizes=Buckets(SIZES, crop="random"), transform=[T.RandomHorizontalFlip()])
    iterator = loader.batches()
    seen = [next(iterator) for _ in range(3)]
    again = pickle.loads(pickle.dumps(loader))
    rest = list(iterator)
    for one, other in zip(rest, again.batches(), strict=True):
        np.testing.assert_array_equal(one.images, other.images)
    state = seen[-1].state
    halves = []
    for rank in range(2):
        half = made(photos, 2, sizes=Buckets(SIZES), ranks=fdconvert.Ranks(rank, 2))
        half.load_state_dict(loader.state_dict() | {"state": state})
        halves.append(list(half.batches()))
    numbers = [it for batch in [*seen, *halves[0], *halves[1]] for it in batch.labels.tolist()]
    assert sorted(numbers) == list(range(30))
    for one, other in zip(*halves, strict=True):
        assert not len(one) or not len(other) or one.images.shape[1:] == other.images.shape[1:]


def test_lists_of_buckets(photos: Path) -> None:
    sdxl = Buckets.sdxl().sizes
    assert len(set(sdxl)) == 40 and all(0.86 < h * w / 2**20 < 1.01 for h, w in sdxl)
    of_area = Buckets.of_area(512 * 512, step=64, longest=2).sizes
    assert (512, 512) in of_area and all(h * w <= 512 * 512 and h % 64 == w % 64 == 0 for h, w in of_area)
    for wrong in ([], [(0, 1)], [(1 << 40, 1)]):
        with pytest.raises(UsageError):
            Buckets(wrong)
    with pytest.raises(TypeError, match="no pair"):
        Buckets([(1, 2, 3)])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="fewer"):
        Buckets.of_area(10)
    with pytest.raises(UsageError, match="leave out what cuts"):
        made(photos, sizes=Buckets(SIZES), transform=[T.CenterCrop(8)])
    with pytest.raises(UsageError, match="sizes: unknown 'two'"):
        made(photos, sizes="two")
    with pytest.raises(UsageError, match="Output.out"):
        made(photos, sizes=Buckets(SIZES), output=fdconvert.Output("numpy", out=bytearray(10)))


def test_images_of_their_own_sizes(photos: Path) -> None:
    images = stored(photos)
    for transform in ([], [T.Resize(24, max_size=40), T.ToDtype("f32"), T.ToLayout("nchw")]):
        loader = made(photos, sizes="own", transform=transform)
        kept, numbers = [], []
        for batch in loader.batches():
            assert isinstance(batch.images, list) and batch._repr_html_()
            kept += batch.images
            numbers += batch.labels.tolist()
        assert sorted(numbers) == list(range(30))
        for number, row in zip(numbers, kept, strict=True):
            np.testing.assert_array_equal(row, np.asarray(fdconvert.transforms.apply(transform, images[number])))


def test_targets_of_images_of_their_own_sizes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    image = np.zeros((20, 30, 3), np.uint8)
    samples = [{"image": image, "objects": document} for document in DOCUMENTS[:1]]
    wide = {"bbox": [[1, 1, 3, 3]], "category": [2], "area": [9.0], "iscrowd": [0], "id": [1]}
    wide |= {"keypoints": [[0] * 6], "segmentation": [runs_of(np.pad(left(4), ((0, 20), (0, 0))))]}
    samples.append({"image": np.zeros((40, 30, 3), np.uint8), "objects": wide})
    out = tmp_path / "o.wds"
    fdconvert.pack(samples, out, schema={"image": "image", "objects": "json"})
    options: dict[str, Any] = {"label": None, "objects": "objects", "sampling": fdconvert.Sequential()}
    loader = made(out, 2, sizes="own", output="torch", **options)
    (batch,) = loader.batches()
    objects = batch.fields["objects"]
    assert objects.run_size.tolist() == [[20, 30], [40, 30]]
    assert [it["size"] for it in objects.run_lengths(1)] == [[40, 30]]
    shapes = [image.shape[:2] for image in batch.images]
    targets = objects.to_torchvision(canvas_size=shapes)
    assert [tuple(it["masks"].shape[1:]) for it in targets] == [(20, 30), (40, 30)]
    assert torch.equal(targets[1]["masks"][0, :20], torch.from_numpy(left(4)))
    with pytest.raises(UsageError, match="height and width"):
        objects.to_torchvision(canvas_size=(20, 30))


def test_patches_are_those_of_timm(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    timm = pytest.importorskip("timm.data.naflex_transforms")
    dataset = pytest.importorskip("timm.data.naflex_dataset")
    import torch

    rng = np.random.default_rng(3)
    # As large as their patches, so that nothing is resized.
    shapes = [(64, 64), (32, 128), (16, 256), (128, 32), (48, 80), (64, 64)]
    images = [rng.integers(0, 255, (*shape, 3)).astype(np.uint8) for shape in shapes]
    out = tmp_path / "o.wds"
    samples = [{"image": image, "label": number} for number, image in enumerate(images)]
    fdconvert.pack(samples, out, schema={"image": "image", "label": "int"}, encode="png")
    loader = made(
        out, sizes=Patches(16, size=16, tokens=100), sampling=fdconvert.Sequential(), output="torch",
        transform=[T.Normalize(T.IMAGENET_MEAN, T.IMAGENET_STD)],
    )  # fmt: skip
    batch = next(iter(loader.batches()))
    mean, std = (torch.tensor(it).view(3, 1, 1) for it in (T.IMAGENET_MEAN, T.IMAGENET_STD))
    listed = []
    for number, image in enumerate(images):
        pixels = (torch.from_numpy(image).permute(2, 0, 1) / 255 - mean) / std
        patches, coord, valid = timm.patchify_image(pixels, (16, 16))
        listed.append(({"patches": patches, "patch_coord": coord, "patch_valid": valid}, number))
    theirs, labels = dataset.NaFlexCollator(16)(listed)
    assert batch.labels.tolist() == labels.tolist()
    for name, expected in theirs.items():
        if name in batch.images:
            assert torch.equal(batch.images[name], expected), name
    assert set(batch.images) == {"patches", "patch_coord", "patch_valid"} <= set(theirs)


def test_the_sizes_of_patches_are_those_of_timm(tmp_path: Path) -> None:
    timm = pytest.importorskip("timm.data.naflex_transforms")
    rng = np.random.default_rng(4)
    shapes = [tuple(rng.integers(1, 300, 2).tolist()) for _ in range(60)]
    out = tmp_path / "o.wds"
    samples = [{"image": np.full((*shape, 3), 9, np.uint8)} for shape in shapes]
    fdconvert.pack(samples, out, schema={"image": "image"}, encode="png")
    for most, side in [(16, 16), (49, 14), (100, 8)]:
        errors = fdconvert.Skip(60)
        loader = made(out, 60, sizes=Patches(most, side), label=None, errors=errors)
        batch = next(iter(loader.batches()))
        for sample, valid, coord, row in zip(
            batch.samples, batch.images["patch_valid"], batch.images["patch_coord"], batch.valid
        ):
            expected = timm.get_image_size_for_seq(shapes[sample], side, most)[1]
            rows, columns = (edge // side for edge in expected)
            if rows * columns > most:
                # timm cuts such images.
                assert not row
                continue
            assert valid.sum() == rows * columns
            assert (coord[valid].max(0) + 1).tolist() == [rows, columns]


def test_patches_and_buckets_resize_as_torchvision(photos: Path) -> None:
    images = stored(photos)
    loader = made(photos, sizes=Patches(20, 8))
    for batch in loader.batches():
        for number, patches, valid, coord in zip(batch.labels, *(
            batch.images[name] for name in ("patches", "patch_valid", "patch_coord")
        )):  # fmt: skip
            rows, columns = (coord[valid].max(0) + 1).tolist()
            resize = {"resize": {"size": [rows * 8, columns * 8], "interpolation": "bilinear"}}
            expected = by_torchvision.image([resize], images[number])
            found = patches[valid].reshape(rows, columns, 8, 8, 3).swapaxes(1, 2)
            found = found.reshape(rows * 8, columns * 8, 3)
            assert np.abs(found.astype(int) - np.asarray(expected).astype(int)).max() <= 1
