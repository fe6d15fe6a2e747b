"""Datasets of Hugging Face are packed as they show themselves, from memory and from their files."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert

datasets = pytest.importorskip("datasets", reason="datasets of Hugging Face is not installed")
PIL = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

CLASSES = ["cat", "dog"]


def png(number: int, size: tuple[int, int] = (64, 48)) -> bytes:
    file = io.BytesIO()
    PIL.new("RGB", size, (number * 40, 100, 200 - number * 40)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def plain() -> Any:
    """Four rows of an image, a label and a text."""
    features = datasets.Features(
        image=datasets.Image(),
        label=datasets.ClassLabel(names=CLASSES),
        text=datasets.Value("string"),
    )
    rows = {
        "image": [{"bytes": png(n), "path": f"{n}.png"} for n in range(4)],
        "label": [0, 1, 0, 1],
        "text": list("abcd"),
    }
    return datasets.Dataset.from_dict(rows, features=features)


def packed(samples: Any, out: Path, **options: Any) -> fdconvert.Dataset:
    fdconvert.pack(samples, out, format="wds", **options)
    return fdconvert.Dataset(out)


def fields(dataset: fdconvert.Dataset) -> list[str]:
    return [field["name"] for field in dataset.schema["fields"]]


def test_rows_that_a_transform_makes_are_packed(plain: Any, tmp_path: Path) -> None:
    def small(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        images = [image.resize((8, 8)) for image in rows["image"]]
        return {"picture": images, "label": [1 - label for label in rows["label"]]}

    made = plain.with_transform(small)
    found = packed(made, tmp_path / "a")
    assert fields(found) == ["picture", "label"]
    assert found[0]["picture"].shape == (8, 8, 3) and found.labels() == [1, 0, 1, 0]
    named = packed(made, tmp_path / "b", schema={"picture": "image", "label": CLASSES})
    assert named.classes == CLASSES
    plain.set_transform(small)
    try:
        assert packed(plain, tmp_path / "c")[0]["picture"].shape == (8, 8, 3)
        some = plain.select([3])
        assert packed(some, tmp_path / "d").labels() == [0]
    finally:
        plain.reset_format()


def test_columns_and_rows_are_those_that_are_shown(plain: Any, tmp_path: Path) -> None:
    shown = plain.with_format("numpy", columns=["image", "label"])
    assert fields(packed(shown, tmp_path / "a")) == ["image", "label"]
    some = plain.with_format("numpy", columns=["label"], output_all_columns=True)
    assert fields(packed(some, tmp_path / "b")) == ["image", "label", "text"]
    assert fields(packed(plain.select_columns(["image"]), tmp_path / "c")) == ["image"]
    turned = packed(plain.select([3, 0]), tmp_path / "d")
    assert [sample["text"] for sample in turned] == ["d", "a"]
    shuffled = plain.shuffle(seed=1)
    texts = [sample["text"] for sample in packed(shuffled, tmp_path / "e")]
    assert texts == shuffled["text"][:]
    mapped = plain.map(lambda row: {"label": 1 - row["label"]})
    found = packed(mapped, tmp_path / "f")
    assert (found.labels(), found.classes) == ([1, 0, 1, 0], CLASSES)
    undecoded = plain.cast_column("image", datasets.Image(decode=False))
    assert packed(undecoded, tmp_path / "g").get(1)["image"]["bytes"] == png(1)
    gray = plain.cast_column("image", datasets.Image(mode="L"))
    red, green, blue = np.asarray(packed(gray, tmp_path / "h")[1]["image"])[0, 0]
    assert red == green == blue


def test_streams_are_packed_as_they_are_shown(plain: Any, tmp_path: Path) -> None:
    stream = plain.to_iterable_dataset()
    found = packed(stream.select_columns(["image", "label"]), tmp_path / "a")
    assert (fields(found), found.classes) == (["image", "label"], CLASSES)
    made = stream.map(lambda row: {"image": row["image"].resize((8, 8)), "label": 1 - row["label"]})
    found = packed(made, tmp_path / "b")
    assert found[0]["image"].shape == (8, 8, 3) and found.labels() == [1, 0, 1, 0]
    some = packed(stream.filter(lambda row: row["label"] == 1).take(1), tmp_path / "c")
    assert [sample["text"] for sample in some] == ["b"]


class Subset:
    """As torch's."""

    def __init__(self, dataset: Any, indices: Any) -> None:
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]


class ConcatDataset:
    """As torch's."""

    def __init__(self, several: list[Any]) -> None:
        self.datasets = several

    def __len__(self) -> int:
        return sum(map(len, self.datasets))

    def __getitem__(self, index: int) -> Any:
        for dataset in self.datasets:
            if index < len(dataset):
                return dataset[index]
            index -= len(dataset)
        raise IndexError(index)


def test_datasets_in_datasets_of_torch_keep_their_classes(plain: Any, tmp_path: Path) -> None:
    found = packed(Subset(plain, [3, 1]), tmp_path / "a")
    assert (found.classes, found.labels()) == (CLASSES, [1, 1])
    assert found.get(0)["image"]["bytes"] == png(3)
    both = packed(ConcatDataset([plain, Subset(plain, [0])]), tmp_path / "b")
    assert (both.classes, both.labels()) == (CLASSES, [0, 1, 0, 1, 0])
    other = plain.cast_column("label", datasets.ClassLabel(names=["dog", "cat"]))
    with pytest.raises(fdconvert.UsageError, match="dataset 1 has other classes of `label`"):
        packed(ConcatDataset([plain, other]), tmp_path / "c")


BBOX = datasets.List(datasets.Value("float32"), length=4)
OBJECTS = {
    "list of structs": (
        datasets.List({"bbox": BBOX, "label": datasets.ClassLabel(names=CLASSES)}),
        [[{"bbox": [0.1, 2, 30, 40], "label": 1}], [], [{"bbox": [1, 2, 3, 4], "label": 0}] * 2],
    ),
    "struct of lists": (
        {"bbox": datasets.List(BBOX), "class": datasets.List(datasets.ClassLabel(names=CLASSES))},
        [{"bbox": [[0.1, 2, 30, 40]], "class": [1]}] + [{"bbox": [], "class": []}] * 2,
    ),
    "more members": (
        datasets.List(
            {
                "area": datasets.Value("float64"),
                "category_id": datasets.Value("int64"),
                "kind": datasets.ClassLabel(names=CLASSES),
                "bbox": BBOX,
            }
        ),
        [[{"area": 0.1, "category_id": 7, "kind": 1, "bbox": [0, 0, 8, 8]}], [], None],
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("field", ["objects", "digits"])
def test_objects_are_the_same_document_both_ways(name: str, field: str, tmp_path: Path) -> None:
    feature, objects = OBJECTS[name]
    rows = {"image": [{"bytes": png(n), "path": None} for n in range(3)], field: objects}
    features = datasets.Features({"image": datasets.Image(), field: feature})
    dataset = datasets.Dataset.from_dict(rows, features=features)
    file = tmp_path / "of_datasets.parquet"
    dataset.to_parquet(file)
    fdconvert.pack(file, tmp_path / "file.wds")
    fdconvert.pack(dataset, tmp_path / "dataset.wds", format="wds")
    fdconvert.pack(dataset.to_iterable_dataset(), tmp_path / "stream.wds", format="wds")
    documents = [
        [fdconvert.Dataset(tmp_path / f"{way}.wds").get(n)[field] for n in range(3)]
        for way in ("file", "dataset", "stream")
    ]
    assert documents[0] == documents[1] == documents[2]
    assert documents[0][0]["category_name"] == ["dog"]
    assert all(not entries for entries in documents[0][1].values())
    assert documents[0][1].keys() == documents[0][0].keys()
    for path in (file, *(tmp_path / f"{way}.wds" for way in ("file", "dataset", "stream"))):
        loader = fdconvert.Loader(
            path, batch_size=3, shuffle=False, label=None, objects=field, size=64, crop="letterbox"
        )
        (batch,) = loader.batches()
        found = batch.fields[field]
        n_objects = [0 if it is None else len(next(iter(it.values()))) for it in documents[0]]
        assert (found.offsets[1:] - found.offsets[:-1]).tolist() == n_objects
        assert found.category[0] == (7 if name == "more members" else 1)


def test_objects_without_known_classes_are_errors(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"kind": [1]}, "no list of classes is known among `kind`"),
        ({"label": ["cat"]}, "its classes, `label`, are texts"),
        ({"label": [1], "class_id": [2]}, "`label` and `class_id` could both be the classes"),
    ]
    for number, (classes, what) in enumerate(wrong):
        sample = {"image": png(1), "objects": {"bbox": [[0, 0, 8, 8]], **classes}}
        out = tmp_path / f"{number}.wds"
        fdconvert.pack([sample], out, schema={"image": "image", "objects": "json"})
        loader = fdconvert.Loader(out, batch_size=1, label=None, objects="objects", size=64)
        with pytest.raises(fdconvert.DataError, match=what):
            list(loader.batches())


def test_a_dataset_without_images_says_so(plain: Any, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    features = datasets.Features(images=datasets.List(datasets.Image()))
    rows = {"images": [[{"bytes": png(n), "path": None}] * 2 for n in range(2)]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(file)
    report = fdconvert.pack(file, tmp_path / "lists.wds")
    what = "no field is an image: `images` holds lists of images, stored as base64 in JSON"
    assert any(note.startswith(what) for note in report["split_notes"])
    texts = plain.select_columns(["text"])
    report = fdconvert.pack(texts, tmp_path / "texts.wds")
    assert report["split_notes"] == ["no field is an image, only `text` text"]
    report = fdconvert.pack(iter(texts), tmp_path / "stream.wds")
    assert report["split_notes"] == ["no field is an image, only `text` text"]
    report = fdconvert.pack(plain, tmp_path / "images.wds")
    assert report["split_notes"] == []
