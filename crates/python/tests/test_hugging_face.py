"""Datasets of Hugging Face are packed as they show themselves, from memory and from their files."""

import io
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
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


def test_numbers_within_lists_are_not_mixed_with_those_of_other_classes(tmp_path: Path) -> None:
    def file(name: str, names: list[str], alone: str | None = None) -> Path:
        label = datasets.ClassLabel(names=names)
        box = datasets.Sequence(datasets.Value("float32"))
        features = {
            "image": datasets.Image(),
            "tags": datasets.Sequence(label),
            "pair": datasets.Sequence(label, length=2),
            "parts": {"kind": label, "shape": {"kinds": datasets.Sequence(label)}},
            "objects": datasets.Sequence({"bbox": box, "kind": label}),
            "both": datasets.Sequence({"bbox": box, "label": label, "kind": label}),
        }
        row = {
            "image": {"bytes": png(1), "path": f"{name}.png"},
            "tags": [0, 1],
            "pair": [1, 0],
            "parts": {"kind": 0, "shape": {"kinds": [1]}},
            "objects": {"bbox": [[1, 2, 3, 4]], "kind": [0]},
            "both": {"bbox": [[1, 2, 3, 4]], "label": [0], "kind": [0]},
        }
        rows = datasets.Dataset.from_list([row], features=datasets.Features(features))
        if alone is not None:
            rows = rows.select_columns(["image", alone])
        out = tmp_path / f"with {alone}" / f"{name}.parquet"
        out.parent.mkdir(exist_ok=True)
        rows.to_parquet(str(out))
        return out

    one, two = file("one", CLASSES), file("two", CLASSES[::-1])
    longer = file("longer", [*CLASSES, "bird"])
    fields = ["tags", "pair", "parts", "objects", "both"]
    for field, place in [
        ("tags", "class 0, and"),
        ("pair", "class 0, and"),
        ("parts", "class 0 of `kind`, and"),
        ("objects", "class 0 of `kind`, and"),
        ("both", "class 0 of `kind`, and"),
    ]:
        others = [other for other in fields if other != field]
        what = f"`{field}` of two.parquet has `dog` as {place} that of one.parquet `cat`"
        with pytest.raises(fdconvert.UsageError, match=f"{what}.*drop_fields=.{field}"):
            fdconvert.pack([one, two], tmp_path / field, format="wds", drop_fields=others)
        if field in ("tags", "pair", "parts"):
            alone = [file("one", CLASSES, field), file("two", CLASSES[::-1], field)]
            with pytest.raises(fdconvert.UsageError, match=f"datasets: {what}"):
                fdconvert.concat(alone)
    found = fdconvert.pack([one, two], tmp_path / "none", format="wds", drop_fields=fields)
    assert found["samples"] == 2
    # The same numbers, of which one source has more.
    found = fdconvert.pack([one, longer], tmp_path / "more", format="wds")
    notes = " ".join(found["split_notes"])
    assert "the names of the classes of `tags` are left out: its values are their numbers" in notes
    assert "`kind` in `both`" in notes and "in `objects`" not in notes


def test_streams_are_packed_as_they_are_shown(plain: Any, tmp_path: Path) -> None:
    stream = plain.to_iterable_dataset()
    found = packed(stream.select_columns(["image", "label"]), tmp_path / "a")
    assert (fields(found), found.classes) == (["image", "label"], CLASSES)
    made = stream.map(lambda row: {"image": row["image"].resize((8, 8)), "label": 1 - row["label"]})
    with pytest.warns(RuntimeWarning, match="no features, as after `map`"):
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
            path, batch_size=3, sampling=fdconvert.Sequential(), label=None, objects=field,
            transform=[fdconvert.transforms.Letterbox(64)],
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
        loader = fdconvert.Loader(out, batch_size=1, label=None, objects="objects")
        with pytest.raises(fdconvert.DataError, match=what):
            list(loader.batches())


PLAIN = [
    ("timestamp[s]", datetime(2020, 1, 1)),
    ("timestamp[us, tz=UTC]", datetime(1960, 1, 1, microsecond=7, tzinfo=UTC)),
    ("timestamp[ns]", datetime(2020, 1, 1, microsecond=7)),
    ("date32", date(1969, 12, 31)),
    ("time32[s]", time(1, 2, 3)),
    ("time64[us]", time(1, 2, 3, 4)),
    ("duration[s]", timedelta(seconds=3)),
    ("duration[ns]", timedelta(microseconds=-3)),
    ("decimal128(10,2)", Decimal("-1.50")),
]


@pytest.mark.parametrize(("dtype", "value"), PLAIN, ids=[dtype for dtype, _ in PLAIN])
def test_times_and_decimals_are_those_of_a_parquet_file(
    dtype: str, value: Any, tmp_path: Path
) -> None:
    feature = datasets.Value(dtype)
    same_as_a_parquet_file(feature, [value, value], tmp_path / "a")
    same_as_a_parquet_file(datasets.List(feature), [[value, None], []], tmp_path / "b")
    same_as_a_parquet_file({"a": feature}, [{"a": value}, {"a": None}], tmp_path / "c")


def test_arrays_and_files_are_those_of_a_parquet_file(tmp_path: Path) -> None:
    number = datasets.Value("float32")
    file = {"bytes": datasets.Value("binary"), "path": datasets.Value("string")}
    images = [{"bytes": png(0), "path": "a.png"}, {"bytes": png(1), "path": "b.png"}]
    sounds = [{"bytes": b"RIFF", "path": "a.wav"}, {"bytes": b"", "path": None}]
    columns: list[tuple[Any, list[Any]]] = [
        (datasets.Array2D((2, 2), "uint8"), [[[1, 2], [3, 4]]] * 2),
        (datasets.List(number, length=2), [[0.1, 2.0], [float("nan"), 4.0]]),
        (datasets.List(datasets.List(number, length=1), length=2), [[[1.0], [2.0]]] * 2),
        (datasets.List(number), [[float("nan"), 0.5], [float("inf")]]),
        (datasets.List(datasets.Value("binary")), [[b"a"], []]),
        (datasets.Value("binary"), [png(0), png(1)]),
        (datasets.Value("binary"), [b"", png(1)]),
        (file, images),
        (file, sounds),
        (datasets.Pdf(decode=False), images),
    ]
    for at, (feature, values) in enumerate(columns):
        same_as_a_parquet_file(feature, values, tmp_path / str(at))


def same_as_a_parquet_file(feature: Any, values: list[Any], folder: Path) -> None:
    """Packed from memory, as a stream and from its Parquet file a dataset has the same fields."""
    folder.mkdir()
    features = datasets.Features(x=feature, n=datasets.Value("int64"))
    rows = {"x": values, "n": list(range(len(values)))}
    dataset = datasets.Dataset.from_dict(rows, features=features)
    dataset.to_parquet(folder / "a.parquet")
    parquet = fdconvert.Dataset(folder / "a.parquet")
    for name, samples in [("rows", dataset), ("stream", dataset.to_iterable_dataset())]:
        found = packed(samples, folder / name)
        assert found.schema == parquet.schema
        for one, other in zip(found, parquet, strict=True):
            assert type(one["x"]) is type(other["x"])
            np.testing.assert_equal(np.asarray(one["x"]), np.asarray(other["x"]))


def test_rows_of_shards_keep_their_keys(plain: Any, tmp_path: Path) -> None:
    keys = [f"k{n}" for n in range(4)]
    shards = plain.add_column("__key__", keys).add_column("__url__", ["a.tar"] * 4)
    for at, samples in enumerate([shards, shards.to_iterable_dataset()]):
        found = packed(samples, tmp_path / str(at))
        assert fields(found) == ["image", "label", "text"] and found.classes == CLASSES
        assert [found.key(index) for index in range(4)] == keys


def test_a_stream_of_undecoded_images_keeps_files_and_classes(plain: Any, tmp_path: Path) -> None:
    stream = plain.to_iterable_dataset()

    def turned(row: dict[str, Any]) -> dict[str, Any]:
        return {"label": 1 - row["label"]}

    files = stream.cast_column("image", datasets.Image(decode=False))
    found = packed(files.map(turned).cast(plain.features), tmp_path / "b")
    assert found.get(1)["image"]["bytes"] == png(1)
    assert (found.classes, found.labels()) == (CLASSES, [1, 0, 1, 0])


def test_a_dataset_without_images_says_so(plain: Any, tmp_path: Path) -> None:
    texts = plain.select_columns(["text"])
    report = fdconvert.pack(texts, tmp_path / "texts.wds")
    assert report["split_notes"] == ["no field is an image, only `text` text"]
    report = fdconvert.pack(iter(texts), tmp_path / "stream.wds")
    assert report["split_notes"] == ["no field is an image, only `text` text"]
    report = fdconvert.pack(plain, tmp_path / "images.wds")
    assert report["split_notes"] == []
