"""Objects of batches as what torchvision's detection models take."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Objects
from fdconvert import transforms as T
from loading import small

HEIGHT, WIDTH = 20, 30


def runs_of(mask: Any) -> dict[str, Any]:
    """A mask as COCO's run lengths, which go down the columns."""
    values = mask.T.reshape(-1)
    edges = np.flatnonzero(np.diff(values)) + 1
    counts = np.diff([0, *edges, len(values)]).tolist()
    return {"size": list(mask.shape), "counts": [0, *counts] if values[0] else counts}


def left(side: int) -> Any:
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    mask[:, :side] = 1
    return mask


DOCUMENTS: list[dict[str, Any]] = [
    {
        "bbox": [[0, 0, 10, 20], [5, 5, 10.5, 10], [1, 1, 2, 2]], "category": [3, 0, 1],
        "area": [200.0, 105.0, 4.0], "iscrowd": [1, 0, 0], "id": [7, 8, 9],
        "keypoints": [[1, 2, 2, 3, 4, 1]] * 3,
        "segmentation": [runs_of(left(10)), runs_of(left(0)), runs_of(left(WIDTH))],
    },
    {"bbox": [], "category": []},
    {"bbox": [[0, 0, 30, 20]], "category": [2], "area": [600.0], "iscrowd": [0], "id": [1],
     "keypoints": [[0, 0, 0, 0, 0, 0]], "segmentation": [runs_of(left(4))]},
]  # fmt: skip


@pytest.fixture(scope="module")
def boxed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("boxed") / "o.wds"
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    samples = [{"image": image, "objects": document} for document in DOCUMENTS]
    fdconvert.pack(samples, out, schema={"image": "image", "objects": "json"})
    return out


def objects_of(path: Path, objects: Any = "objects", **options: Any) -> fdconvert.BatchObjects:
    plain: dict[str, Any] = {"transform": [T.Resize((HEIGHT, WIDTH))], "label": None, "objects": objects}
    loader = small(path, 3, sampling=fdconvert.Sequential(), **plain | options)
    (batch,) = loader.batches()
    found: fdconvert.BatchObjects = batch.fields["objects"]
    return found


@pytest.mark.parametrize("output", ["numpy", "torch", "array"])
def test_each_row_is_a_target(boxed: Path, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    # Run lengths are drawn without it.
    monkeypatch.setitem(sys.modules, "pycocotools", None)
    objects = objects_of(boxed, output=output)
    targets = objects.to_torchvision(canvas_size=(HEIGHT, WIDTH))
    assert [target["labels"].tolist() for target in targets] == [[4, 1, 2], [], [3]]
    types = {"boxes": torch.float32, "labels": torch.int64, "masks": torch.uint8}
    types |= {"area": torch.float32, "iscrowd": torch.int64, "keypoints": torch.float32}
    for target, n in zip(targets, [3, 0, 1], strict=True):
        assert {name: it.dtype for name, it in target.items()} == types
        assert {len(it) for it in target.values()} == {n}
        assert target["boxes"].shape == (n, 4) and target["keypoints"].shape == (n, 2, 3)
        assert target["masks"].shape == (n, HEIGHT, WIDTH)
    assert targets[0]["boxes"].tolist() == [[0, 0, 10, 20], [5, 5, 15.5, 15], [1, 1, 3, 3]]
    assert targets[0]["iscrowd"].tolist() == [1, 0, 0] and targets[2]["area"].tolist() == [600]
    for mask, side in zip([*targets[0]["masks"], *targets[2]["masks"]], [10, 0, WIDTH, 4], strict=True):
        assert (mask.numpy() == left(side)).all()
    assert all("masks" not in target for target in objects.to_torchvision())
    with pytest.raises(fdconvert.UsageError, match=r"canvas_size: .*\(20, 30\), not \(30, 20\)"):
        objects.to_torchvision(canvas_size=(WIDTH, HEIGHT))


def test_polygons_and_run_lengths_are_masks_that_lie_on_the_objects(tmp_path: Path) -> None:
    coco = pytest.importorskip("pycocotools.mask", reason="pycocotools is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    image = np.zeros((100, 200, 3), np.uint8)
    white = np.zeros((100, 200), np.uint8)
    white[20:40, 40:120] = 1
    runs = coco.encode(np.asfortranarray(white))
    corners = [40, 20, 120, 20, 120, 40, 40, 40]
    halves = [[40, 20, 80, 20, 80, 40, 40, 40], [80, 20, 120, 20, 120, 40, 80, 40]]
    objects = {
        "bbox": [[40, 20, 80, 20]] * 4,
        "category": [0] * 4,
        "segmentation": [
            [corners], halves, {"size": runs["size"], "counts": runs["counts"].decode()}, [],
        ],
    }
    out = tmp_path / "o.wds"
    sample = {"image": image, "objects": objects}
    fdconvert.pack([sample], out, schema={"image": "image", "objects": "json"})
    loader = small(out, 1, transform=[T.Resize((100, 200))], label=None, objects="objects")
    (batch,) = loader.batches()
    objects = batch.fields["objects"]
    (target,) = objects.to_torchvision()
    assert "masks" not in target and target["boxes"].dtype == torch.float32
    (target,) = objects.to_torchvision(canvas_size=batch.images.shape[1:3])
    masks = target["masks"]
    assert masks.dtype == torch.uint8
    assert [bool((mask.numpy() == white).all()) for mask in masks[:3]] == [True] * 3
    assert not masks[3].any()
    with pytest.raises(fdconvert.UsageError, match=r"canvas_size: .* \(100, 200\)"):
        objects.to_torchvision(canvas_size=(200, 100))


def test_groups_of_objects_reach_their_effect(boxed: Path) -> None:
    assert objects_of(boxed).runs is not None
    plain = objects_of(boxed, Objects("objects", segmentations=False))
    assert plain.runs is None and plain.of_row(0).keys() >= {"boxes", "area"}
    assert objects_of(boxed, Objects("objects", min_box=3)).category.tolist() == [3, 0, 2]
    mirrored = [T.Resize((HEIGHT, WIDTH)), T.RandomHorizontalFlip(1.0)]
    flipped = objects_of(boxed, Objects("objects", keypoint_flip=[1, 0]), transform=mirrored)
    # The second one, counted from the other side.
    assert flipped.keypoints[0].tolist() == [[WIDTH - 1 - 3, 4, 1], [WIDTH - 1 - 1, 2, 2]]


def test_objects_without_a_category_are_no_target(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    sample = {"image": image, "objects": {"bbox": [[0, 0, 5, 5]]}}
    fdconvert.pack([sample] * 3, tmp_path / "o.wds", schema={"image": "image", "objects": "json"})
    with pytest.raises(fdconvert.UsageError, match="to_torchvision: an object has no category"):
        objects_of(tmp_path / "o.wds").to_torchvision()


def test_torch_is_asked_for_by_name(boxed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = objects_of(boxed)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(fdconvert.UsageError, match=r"to_torchvision: tensors need torch.*of_row\(row\)"):
        objects.to_torchvision()


def test_torchvision_trains_on_them(boxed: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    detection = pytest.importorskip("torchvision.models.detection", reason="torchvision is not installed")
    model = detection.maskrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=5, min_size=64, max_size=64
    )
    torch.manual_seed(1)
    targets = objects_of(boxed).to_torchvision(canvas_size=(HEIGHT, WIDTH))
    images = [torch.rand(3, HEIGHT, WIDTH) for _ in targets]
    losses = model(images, targets)
    assert {"loss_classifier", "loss_mask"} <= set(losses)
    assert all(torch.isfinite(loss) for loss in losses.values())
