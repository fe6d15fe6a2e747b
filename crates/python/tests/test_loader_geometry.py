"""Masks, further images and objects move as the image of their sample does: as in torchvision."""

import contextlib
import importlib
import io
import json
import pickle
import struct
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import by_torchvision
import fdconvert
from fdconvert import Loader
from fdconvert import transforms as T
from loading import CROPS, small

GRAY, RGB, PALETTE = 0, 2, 3


def png(pixels: Any, color: int, bits: int) -> bytes:
    """A PNG of one channel of so many bits, or of RGB."""
    height, width = pixels.shape[:2]
    if bits < 8:
        shifts = np.arange(bits - 1, -1, -1)
        flat = ((pixels[..., None] >> shifts) & 1).reshape(height, width * bits).astype(np.uint8)
        rows = np.packbits(flat, axis=1)
    else:
        rows = pixels.astype(">u2" if bits == 16 else np.uint8).reshape(height, -1)
    body = b"".join(b"\0" + row.tobytes() for row in rows)

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)

    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    chunks = [chunk(b"IHDR", head)]
    if color == PALETTE:
        chunks.append(chunk(b"PLTE", bytes(at * 37 % 251 for at in range(3 << bits))))
    chunks += [chunk(b"IDAT", zlib.compress(body, 1)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


Sample = dict[str, Any]

DEPTHS = [(PALETTE, 8), (GRAY, 8), (PALETTE, 1), (GRAY, 1), (GRAY, 2), (PALETTE, 4)]


def sample(generator: Any, number: int) -> Sample:
    """What is stored of a sample: every third one tells coordinates of an image of another size."""
    height, width = (int(side) for side in generator.integers(8, 120, 2))
    color, bits = DEPTHS[number % len(DEPTHS)]
    corner = generator.uniform(0, 1, (int(generator.integers(0, 5)), 2)) * (width, height)
    sides = generator.uniform(0, 1, corner.shape) * (width, height)
    n_objects = len(corner)
    scale = (2, 3) if number % 3 == 0 else (1, 1)
    return {
        "image": generator.integers(0, 256, (height, width, 3)),
        "mask": generator.integers(0, 1 << bits, (height, width)),
        "stored": (color, bits),
        "depth": generator.integers(0, 1 << 16, (height, width)),
        "scale": scale,
        "boxes": np.concatenate([corner, sides], axis=1),
        "keypoints": generator.uniform(0, 1, (n_objects, 3, 2)) * (width, height),
        "polygons": generator.uniform(-0.1, 1.1, (n_objects, 2, 4, 2)) * (width, height),
        "crowds": crowds(generator, n_objects, (height * scale[1], width * scale[0])),
    }


def crowds(generator: Any, n_objects: int, size: tuple[int, int]) -> Any:
    """Masks in large pieces and in single pixels."""
    masks = generator.random((n_objects, *size)) < generator.choice([0.0, 0.001, 0.3])
    for mask in masks:
        top, bottom = sorted(generator.integers(0, size[0] + 1, 2))
        left, right = sorted(generator.integers(0, size[1] + 1, 2))
        mask[top:bottom, left:right] ^= True
    return masks


def run_lengths(mask: Any) -> list[int]:
    flat = mask.flatten(order="F")
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    counts = np.diff([0, *edges, flat.size]).tolist()
    return [0, *counts] if flat[0] else counts


def compressed(counts: list[int]) -> str:
    """COCO's text of run lengths."""
    text = ""
    for at, count in enumerate(counts):
        left = count - (counts[at - 2] if at > 2 else 0)
        while True:
            bits, left = left & 31, left >> 5
            is_last = left == (-1 if bits & 16 else 0)
            text += chr(48 + bits + (0 if is_last else 32))
            if is_last:
                break
    return text


def document(sample: Sample, as_runs: bool = False) -> bytes:
    x, y = sample["scale"]
    height, width = sample["mask"].shape
    n_objects = len(sample["boxes"])
    keypoints = np.full((n_objects, 3, 3), 2.0)
    keypoints[..., :2] = sample["keypoints"] * (x, y)
    objects = {
        "bbox": (sample["boxes"] * (x, y, x, y)).tolist(),
        "category": list(range(n_objects)),
        "area": [float(at) for at in range(n_objects)],
        "iscrowd": [at % 2 for at in range(n_objects)],
        "id": [at + 100 for at in range(n_objects)],
        "keypoints": keypoints.reshape(n_objects, 9).tolist(),
        "segmentation": (sample["polygons"] * (x, y)).reshape(n_objects, 2, 8).tolist(),
    }
    if as_runs:
        objects["segmentation"] = []
        for number, mask in enumerate(sample["crowds"]):
            counts = run_lengths(mask)
            told = compressed(counts) if number % 2 else counts
            objects["segmentation"].append({"size": mask.shape, "counts": told})
    if (x, y) != (1, 1):
        objects["size"] = [width * x, height * y]
    return json.dumps(objects).encode()


def shard(folder: Path, samples: list[Sample]) -> Path:
    with tarfile.open(folder / "00000.tar", "w") as tar:
        for number, it in enumerate(samples):
            members = {
                "png": png(it["image"], RGB, 8),
                "mask.png": png(it["mask"], *it["stored"]),
                "depth.png": png(it["depth"], GRAY, 16),
                "objects.json": document(it),
                "crowds.json": document(it, as_runs=True),
                "label.cls": str(number).encode(),
            }
            for name, content in members.items():
                info = tarfile.TarInfo(f"{number:05}.{name}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return folder


def made(folder: Path, n_samples: int) -> tuple[Path, list[Sample]]:
    generator = np.random.default_rng(11)
    samples = [sample(generator, number) for number in range(n_samples)]
    return shard(folder, samples), samples


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Sample]]:
    return made(tmp_path_factory.mktemp("few"), 12)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Sample]]:
    return made(tmp_path_factory.mktemp("many"), 1000)


MASK, DEPTH = "mask", "depth"
SIZE = (40, 48)
RANDOM: list[T.Transform] = [T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip()]


def follow(path: Path | fdconvert.Dataset, transform: list[T.Transform], **options: Any) -> Loader:
    asked = {"fields": [DEPTH], "masks": [MASK], "objects": "objects", "transform": transform}
    return small(path, 50, **asked | options)


def test_stored_values_come_where_nothing_is_resized(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    samples = [sample(generator, number) for number in range(60)]
    for it in samples:
        for name in ("image", "mask", "depth"):
            it[name] = it[name][:8, :8]
        it["boxes"], it["crowds"] = it["boxes"][:0], it["crowds"][:0]
        it["keypoints"], it["polygons"] = it["keypoints"][:0], it["polygons"][:0]
    path = shard(tmp_path, samples)
    for batch in follow(path, [T.Resize((8, 8))]).batches():
        assert batch.fields[MASK].dtype == np.uint8 and batch.fields[DEPTH].dtype == np.uint16
        for row, number in enumerate(batch.samples.tolist()):
            assert (batch.fields[MASK][row] == samples[number]["mask"]).all()
            assert (batch.fields[DEPTH][row] == samples[number]["depth"]).all()
            assert (batch.images[row] == samples[number]["image"]).all()


def test_a_loop_gets_masks_and_objects(few: tuple[Path, list[Sample]]) -> None:
    path, samples = few
    loader = follow(path, RANDOM)
    for images, labels, fields in loader:
        assert set(fields) == {DEPTH, MASK, "objects"}
        assert fields[MASK].shape == images.shape[:3] == (len(labels), 40, 48)
        objects = fields["objects"]
        assert isinstance(objects, fdconvert.BatchObjects)
        assert objects.offsets.shape == (len(labels) + 1,) and objects.boxes.dtype == np.float32
        n_objects = len(objects.boxes)
        assert objects.category.dtype == np.int64 and objects.area.shape == (n_objects,)
        assert objects.keypoints.shape == (n_objects, 3, 3)
        assert len(objects.polygon_offsets) == len(objects.polygon_objects) + 1 == n_objects * 2 + 1
        for row, label in enumerate(labels.tolist()):
            one = objects.of_row(row)
            assert (one["id"] == one["category"] + 100).all()
            assert len(one["boxes"]) <= len(samples[label]["boxes"])
            assert [len(polygons) for polygons in one["polygons"]] == [2] * len(one["boxes"])
        polygons = [it for row in range(len(labels)) for it in objects.of_row(row)["polygons"]]
        points = [polygon for polygons_of_one in polygons for polygon in polygons_of_one]
        np.testing.assert_array_equal(np.concatenate(points), objects.points)
    assert loader.stats()["fields_left_out"] == ["crowds"]
    again = pickle.loads(pickle.dumps(follow(path, RANDOM)))
    assert MASK in next(again.batches()).fields


def test_geometry_is_told_where_it_is_asked_for(few: tuple[Path, list[Sample]]) -> None:
    path, samples = few
    assert next(small(path).batches()).geometry is None
    for batch in small(path, transform=CROPS, geometry=True).batches():
        shown = batch.geometry
        assert shown is not None and shown.matrix.dtype == np.float64
        assert shown.matrix.shape == (len(batch), 3, 3)
        for row, number in enumerate(batch.samples.tolist()):
            height, width = samples[number]["mask"].shape
            assert shown.source[row].tolist() == [width, height]
            assert shown.size[row].tolist() == [32, 32]
            crop, resize, *flips = T.draw(CROPS, (height, width), seed=7, sample=number)
            assert resize["resize"]["size"] == [32, 32]
            part = crop["crop"]
            ends = [[part["left"], part["top"]], [part["left"] + part["width"], part["top"] + part["height"]]]
            ends = by_torchvision.through(shown.matrix[row], np.array(ends, float))
            expected = [[32, 0], [0, 32]] if flips else [[0, 0], [32, 32]]
            np.testing.assert_allclose(ends, expected, atol=1e-9)


def test_what_cannot_be_is_said_by_name(few: tuple[Path, list[Sample]]) -> None:
    path, _ = few
    with pytest.raises(TypeError, match="masks: give a list"):
        small(path, masks=MASK)
    with pytest.raises(fdconvert.UsageError, match="keypoint_flip"):
        small(path, objects=fdconvert.Objects("objects", keypoint_flip=[0, 0]))
    with pytest.raises(fdconvert.UsageError, match="min_box"):
        small(path, objects=fdconvert.Objects("objects", min_box=-1.0))
    with pytest.raises(fdconvert.UsageError, match="min_box: 33 is not the side .* 32x32 pixels"):
        small(path, objects=fdconvert.Objects("objects", min_box=33))
    with pytest.raises(fdconvert.UsageError, match=f"masks: 300 around `{MASK}` does not fit .* 8 bits"):
        small(path, masks={MASK: 300})
    with pytest.raises((TypeError, fdconvert.UsageError), match="masks: "):
        small(path, masks={MASK: -1})
    with pytest.raises(fdconvert.UsageError, match="AugMix"):
        follow(path, [*RANDOM, T.AugMix()])
    with pytest.raises(fdconvert.UsageError, match="has no field `maks`"):
        small(path, masks=["maks"])


WHOLE = T.Resize(SIZE)
CASES: dict[str, list[T.Transform]] = {
    "center": [T.Resize(50), T.CenterCrop(SIZE), T.RandomHorizontalFlip()],
    "center of small ones": [T.CenterCrop((70, 90))],
    "rrc": RANDOM,
    "flip": [WHOLE, T.RandomHorizontalFlip(1.0)],
    "vertical": [WHOLE, T.RandomVerticalFlip()],
    "plain": [WHOLE],
    "letterbox": [T.Letterbox(44), T.RandomHorizontalFlip()],
    "crop": [T.RandomCrop(SIZE, padding=3, pad_if_needed=True)],
    "edges": [T.RandomCrop(SIZE, pad_if_needed=True, padding_mode="edge")],
    "pad": [T.Resize((30, 40)), T.Pad((1, 2, 3, 4)), T.RandomHorizontalFlip()],
    "jitter": [T.ScaleJitter(SIZE, (0.5, 1.5)), T.RandomCrop(SIZE, pad_if_needed=True)],
    "rotation": [WHOLE, T.RandomRotation(45)],
    "rotation of all": [T.RandomRotation((10, 80), expand=True), WHOLE],
    "affine": [WHOLE, T.RandomAffine(30, (0.2, 0.3), (0.7, 1.4), (-10, 10, -5, 5))],
    "perspective": [WHOLE, T.RandomPerspective(0.4, 0.8)],
    "many": [
        T.RandomRotation(20),
        T.RandomResizedCrop((60, 50), (0.3, 1.0)),
        T.RandomApply([T.RandomVerticalFlip(1.0), T.RandomAffine(10, shear=5)]),
        T.RandomHorizontalFlip(),
        T.RandomChoice([T.CenterCrop((70, 48)), T.RandomCrop((70, 48), padding=20)]),
        T.ColorJitter(0.4),
        T.RandomPerspective(0.2),
    ],
}
FILL = 255
"""What masks show around the image."""

WARPED = {"rotation", "rotation of all", "affine", "perspective", "many"}
"""Those that torchvision takes long for."""


class TestTorchvision:
    """Each operation on a thousand samples, those of ``WARPED`` on fewer."""

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        for name in ("torch", "torchvision"):
            pytest.importorskip(name, reason=f"{name} is not installed")

    @pytest.mark.parametrize("name", CASES)
    def test_is_what_v2_does(self, many: tuple[Path, list[Sample]], name: str) -> None:
        path, samples = chosen(many, name)
        n_rows = n_objects = n_flipped = 0
        one = follow(path, CASES[name], threads=1, masks={MASK: FILL}).batches()
        four = follow(path, CASES[name], threads=4, masks={MASK: FILL}).batches()
        for batch, other in zip(one, four, strict=True):
            same(batch, other)
            for row, number in enumerate(batch.samples.tolist()):
                changes = drawn(CASES[name], samples[number], number)
                n_objects += compare(batch, row, samples[number], changes)
                n_rows += 1
                n_flipped += "horizontal_flip" in changes
        assert n_rows == len(samples) and n_objects > n_rows
        p = [it.spec["RandomHorizontalFlip"]["p"] for it in CASES[name] if "Horizontal" in repr(it)]
        assert abs(n_flipped - n_rows * sum(p)) < n_rows / 10

    @pytest.mark.parametrize("name", CASES)
    def test_run_lengths_are_what_v2_makes_of_their_masks(
        self, many: tuple[Path, list[Sample]], name: str
    ) -> None:
        path, samples = chosen(many, name)
        options: dict[str, Any] = {"objects": "crowds", "fields": [], "masks": []}
        n_masks = 0
        one = follow(path, CASES[name], threads=1, **options).batches()
        four = follow(path, CASES[name], threads=4, **options | {"output": "torch"}).batches()
        for batch, other in zip(one, four, strict=True):
            found, others = batch.fields["crowds"], other.fields["crowds"]
            for row, number in enumerate(batch.samples.tolist()):
                masks = found.run_lengths(row)
                assert masks == others.run_lengths(row)
                changes = drawn(CASES[name], samples[number], number)
                n_masks += compare_masks(batch, row, samples[number], changes, masks)
        assert n_masks > len(samples)


def chosen(many: tuple[Path, list[Sample]], name: str) -> tuple[fdconvert.Dataset, list[Sample]]:
    path, samples = many
    samples = samples[:150] if name in WARPED else samples
    return fdconvert.Dataset(path).select(range(len(samples))), samples


def drawn(transform: list[T.Transform], sample: Sample, number: int) -> list[Any]:
    """The changes of a sample's image, of which what follows it sees those that move pixels."""
    return T.draw(transform, sample["mask"].shape, seed=7, sample=number)


def same(batch: fdconvert.Batch, other: fdconvert.Batch) -> None:
    assert (batch.samples == other.samples).all() and (batch.images == other.images).all()
    for name in (MASK, DEPTH):
        assert (batch.fields[name] == other.fields[name]).all()
    objects, others = batch.fields["objects"], other.fields["objects"]
    for name in ("boxes", "offsets", "category", "keypoints", "points", "polygon_objects"):
        assert (getattr(objects, name) == getattr(others, name)).all()


def compare_masks(
    batch: fdconvert.Batch,
    row: int,
    sample: Sample,
    changes: list[Any],
    masks: list[dict[str, Any] | None],
) -> int:
    """Compare run lengths with what torchvision makes of the masks; how many there are."""
    torch = pytest.importorskip("torch")
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    objects = batch.fields["crowds"].of_row(row)
    assert len(masks) == len(objects["boxes"])
    for mask, number in zip(masks, objects["category"].tolist(), strict=True):
        stored = torch.from_numpy(sample["crowds"][number].astype(np.uint8))[None]
        # Told of a larger image, it is brought to the size of the stored one first.
        given = functional.resize(tv_tensors.Mask(stored), list(sample["mask"].shape))
        expected = by_torchvision.moved(changes, given, fill=0)[0].numpy()
        assert mask == {"size": list(batch.images.shape[1:3]), "counts": run_lengths(expected)}
    if masks:
        with contextlib.suppress(ImportError):
            coco = importlib.import_module("pycocotools.mask")
            decoded = coco.decode(coco.frPyObjects(masks, *batch.images.shape[1:3]))
            assert (decoded[..., -1] == expected).all() and decoded.shape[2] == len(masks)
    return len(masks)


def compare(batch: fdconvert.Batch, row: int, sample: Sample, changes: list[Any]) -> int:
    """Compare a row with what torchvision makes of it; how many objects it shows."""
    torch = pytest.importorskip("torch")
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    size = list(batch.images.shape[1:3])
    for name, stored, fill in ((MASK, sample["mask"], FILL), (DEPTH, sample["depth"], 0)):
        mask = tv_tensors.Mask(torch.from_numpy(stored.astype(np.int32))[None])
        expected = by_torchvision.moved(changes, mask, fill)[0].numpy()
        assert (batch.fields[name][row] == expected).all(), (name, changes)

    canvas = sample["mask"].shape
    # It moves no boxes into pixels that are repeated.
    changes = [plain_padding(change) for change in changes]
    boxes = torch.from_numpy(sample["boxes"])
    given = tv_tensors.BoundingBoxes(boxes, format="XYWH", canvas_size=canvas)
    given = functional.convert_bounding_box_format(given, new_format="XYXY")
    # Not every operation does it, and what reaches out is left out by the next step.
    matrix = batch.geometry.matrix[row]
    clamped = functional.clamp_bounding_boxes(by_torchvision.moved(changes, given))
    expands = '"expand": true' in json.dumps(changes)
    if expands:
        # It rounds the size of such an image, and moves boxes as if it did not.
        exact = enclosing(matrix, np.asarray(given)).clip(0, [size[1], size[0]] * 2)
        assert np.abs(exact - clamped.numpy()).max(initial=0) < 1.5
        clamped[...] = torch.from_numpy(exact)
    expected, kept = functional.sanitize_bounding_boxes(clamped, min_size=1.0, min_area=0.0)
    objects = batch.fields["objects"]
    found = objects.of_row(row)
    assert found["category"].tolist() == np.flatnonzero(kept.numpy()).tolist()
    near(found["boxes"], expected)
    assert (found["area"] == found["category"]).all()
    assert (found["iscrowd"] == found["category"] % 2).all()

    points = torch.from_numpy(sample["keypoints"][kept.numpy()])
    keypoints = by_torchvision.moved(changes, tv_tensors.KeyPoints(points, canvas_size=canvas))
    if expands:
        keypoints = torch.from_numpy(by_torchvision.through(matrix, points.numpy()))
    near(found["keypoints"][..., :2], keypoints)
    inside = ((keypoints >= 0) & (keypoints < torch.tensor([size[1], size[0]]))).all(dim=-1)
    assert (found["keypoints"][..., 2] == inside.numpy() * 2.0).all()

    # A point as a box without sides, which is not clipped.
    corners = torch.from_numpy(sample["polygons"][kept.numpy()]).reshape(-1, 2)
    pairs = torch.cat([corners, corners], dim=1)
    moved_corners = by_torchvision.moved(
        changes,
        tv_tensors.BoundingBoxes(pairs, format="XYXY", canvas_size=canvas, clamping_mode=None),
    )
    begin, end = objects.offsets[row : row + 2]
    of_row = (objects.polygon_objects >= begin) & (objects.polygon_objects < end)
    polygons = np.flatnonzero(of_row)
    assert len(polygons) == 2 * int(kept.sum())
    if len(polygons):
        first, last = polygons[0], polygons[-1] + 1
        shown = objects.points[objects.polygon_offsets[first] : objects.polygon_offsets[last]]
        if not expands:
            near(shown, moved_corners[:, :2])
        near(shown, torch.from_numpy(by_torchvision.through(matrix, corners.numpy())))
    return int(kept.sum())


def enclosing(matrix: Any, boxes: Any) -> Any:
    left, top, right, bottom = boxes.T
    corners = np.array([[left, top], [right, top], [left, bottom], [right, bottom]])
    moved = by_torchvision.through(matrix, corners.transpose(2, 0, 1))
    return np.concatenate([moved.min(axis=1), moved.max(axis=1)], axis=1)


def plain_padding(change: Any) -> Any:
    if not isinstance(change, dict) or "pad" not in change:
        return change
    return {"pad": change["pad"] | {"padding_mode": "constant"}}


def near(found: Any, expected: Any) -> None:
    assert found.shape == tuple(expected.shape)
    assert found.size == 0 or np.abs(found - expected.numpy()).max() < 1e-3
