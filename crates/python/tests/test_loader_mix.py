"""Labels of any kind, and batches that are mixed: what torchvision makes of the same ones."""

import io
import json
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Loader
from fdconvert import transforms as T
from loading import SMALL, small


@pytest.fixture(scope="module")
def table(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photos with a column of each kind that a table has."""
    folder = tmp_path_factory.mktemp("table")
    files = sorted(file.relative_to(photos) for file in photos.rglob("*.png"))
    lines = [
        json.dumps({"path": str(file), "id": number, "score": number / 8, "text": f"ä {number}"})
        for number, file in enumerate(files)
    ]
    (folder / "labels.jsonl").write_text("\n".join(lines) + "\n")
    out = folder / "x.beton"
    fdconvert.pack(photos, out, labels=folder / "labels.jsonl", jpeg_quality=90, max_side=64)
    return out


@pytest.fixture(scope="module")
def shards(photos: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with JSON and arrays, as a tar of others."""
    out = tmp_path_factory.mktemp("shards")
    with tarfile.open(out / "00000.tar", "w") as tar:
        for number, file in enumerate(sorted(photos.rglob("*.png"))):
            classes = io.BytesIO()
            np.save(classes, np.arange(5, dtype=np.uint8) == number % 5)
            members = {
                "png": file.read_bytes(),
                "meta.json": json.dumps({"number": number, "ä": 1}, ensure_ascii=False).encode(),
                "classes.npy": classes.getvalue(),
            }
            for name, content in members.items():
                info = tarfile.TarInfo(f"{number:04}.{name}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out


def test_any_field_may_be_the_label(table: Path, shards: Path) -> None:
    for batch in small(table, 5, label="score", fields=["id"]).batches():
        assert batch.labels.dtype == np.float64
        assert (batch.labels == batch.fields["id"] / 8).all() and list(batch.fields) == ["id"]
    for _, labels, fields in small(table, 5, label="text", fields=["id", "text"]):
        assert labels == [f"ä {number}" for number in fields["id"]] == fields["text"]
    for batch in small(shards, 5, label="meta").batches():
        assert all(isinstance(label, str) for label in batch.labels)
        assert [json.loads(label)["number"] for label in batch.labels] == batch.samples.tolist()
    for batch in small(shards, 5, label="classes").batches():
        assert batch.labels.shape == (len(batch), 5) and batch.labels.dtype == np.bool_
        assert (batch.labels.argmax(axis=1) == batch.samples % 5).all()
    array = next(iter(small(table, label="score", output="array")))[1]
    assert isinstance(array, fdconvert.Array) and array.dtype == "float64"
    with pytest.raises(ValueError, match=r"label: .*no label `image`.*name `id` or `score`"):
        Loader(table, label="image")
    loader = small(table, label="text")
    next(batches := iter(loader))
    rest = [labels for _, labels in pickle.loads(pickle.dumps(loader))]
    assert rest == [labels for _, labels in batches] and len(rest) == 2


def test_labels_are_soft_where_batches_are_mixed(beton: Path, shards: Path) -> None:
    both = T.RandomChoice([T.MixUp(), T.CutMix()])
    for way in [T.MixUp(0.2), T.CutMix(), both, T.RandomApply([both], 0.5)]:
        for images, labels in small(beton, transform=[*SMALL, way]):
            assert images.dtype == np.uint8
            assert labels.shape == (4, 2) and labels.dtype == np.float32
            np.testing.assert_allclose(labels.sum(axis=1), 1, rtol=1e-6)
    never = T.RandomApply([T.MixUp(0.2, num_classes=10)], 0.0)
    (_, labels), *_ = small(beton, 5, transform=[*SMALL, never])
    assert labels.shape == (5, 10) and set(labels.flat) == {0.0, 1.0}
    for _, labels in small(shards, 5, label="classes", transform=[*SMALL, T.MixUp(0.4)]):
        assert labels.shape[1] == 5 and labels.dtype == np.float32
    # One row has none to mix with.
    pairs = zip(small(beton, 1), small(beton, 1, transform=[*SMALL, T.MixUp()]), strict=True)
    assert all((plain[0] == mixed[0]).all() for plain, mixed in pairs)


def test_what_cannot_be_mixed_is_said(beton: Path, table: Path) -> None:
    mixed = [*SMALL, T.MixUp(0.2)]
    refused: list[tuple[Path, dict[str, Any], str]] = [
        (beton, {"transform": [*SMALL, T.MixUp(-1.0)]}, "transform: .*-1"),
        (beton, {"transform": mixed, "label": None}, "label: .* need labels"),
        (table, {"transform": mixed, "label": "score"}, "label: `score` is of kind float"),
        (table, {"transform": mixed, "label": "id"}, "transform: .*num_classes"),
        (beton, {"transform": mixed, "device": "cuda", "output": "array"}, "transform: batches on a GPU"),
        (beton, {"transform": mixed, "views": 2}, "views: MixUp and CutMix mix the labels of rows"),
        (beton, {"views": {"a": (1, mixed), "b": (1, SMALL)}}, "views: MixUp and CutMix"),
    ]
    for path, options, said in refused:
        with pytest.raises(ValueError, match=f"^{said}"):
            Loader(path, **options)
    few = [*SMALL, T.MixUp(0.2, num_classes=3)]
    with pytest.raises(ValueError, match=r"transform: num_classes: sample \d+ has the label \d+, which"):
        list(small(table, label="id", transform=few, errors=fdconvert.Skip()))


class TestTorchvision:
    """The same batches, mixed by torchvision with the share and the box that were drawn."""

    @pytest.fixture(autouse=True)
    def torchvision(self) -> Any:
        return pytest.importorskip("torchvision", reason="torchvision is not installed")

    @pytest.mark.parametrize(("n_epochs", "batch_size"), [(250, 4), (50, 12), (80, 3)])
    @pytest.mark.parametrize("kind", ["MixUp", "CutMix"])
    def test_mixed_alike(self, table: Path, kind: str, n_epochs: int, batch_size: int) -> None:
        import torch
        from torchvision.transforms import v2

        options: dict[str, Any] = {"label": "id", "output": "torch", "batch_size": batch_size}
        form = [T.Resize((17, 23)), T.ToDtype("f32"), T.ToLayout("nchw")]
        mixed = small(table, transform=[*form, getattr(T, kind)(0.7, num_classes=12)], **options)
        plain = small(table, transform=form, **options)
        transform = getattr(v2, kind)(num_classes=12)
        n_boxes, n_batches = 0, 0
        for _ in range(n_epochs):
            for (images, labels), (expected, classes) in zip(mixed, plain, strict=True):
                # Classes of a batch differ, so the share of the first row stands alone.
                share = labels[0, classes[0]].item()
                params: dict[str, Any] = {"lam": share}
                if kind == "CutMix":
                    changed = (images != expected).any(1).any(0)
                    lines = changed.any(1).nonzero().flatten().tolist() or [0, -1]
                    columns = changed.any(0).nonzero().flatten().tolist() or [0, -1]
                    box = (columns[0], lines[0], columns[-1] + 1, lines[-1] + 1)
                    area = (box[2] - box[0]) * (box[3] - box[1])
                    # The share is that of the box, so the whole of it was seen.
                    assert share == np.float32(1 - area / (17 * 23))
                    params = {"lam_adjusted": share, "box": box}
                    n_boxes += area > 0
                transform.make_params = lambda _, params=params: params
                theirs, their_labels = transform(expected, classes)
                torch.testing.assert_close(images, theirs, rtol=1e-6, atol=1e-6)
                torch.testing.assert_close(labels, their_labels, rtol=1e-6, atol=1e-6)
                n_batches += 1
        assert n_batches == n_epochs * 12 // batch_size
        assert kind == "MixUp" or n_boxes > n_batches // 2
