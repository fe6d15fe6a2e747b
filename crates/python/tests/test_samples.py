"""Samples of a program become datasets of every format, and are read back equal."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samples
from samples import CLASSES, HuggingFaceLike, TorchLike

import fdconvert

SCHEMA = {"image": "image", "label": CLASSES}
FORMATS = ["beton", "wds", "mds", "mixed"]


def contents(path: Path) -> dict[str, bytes]:
    """All that is at a path, by name."""
    if path.is_file():
        return {"": path.read_bytes()}
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def check(path: Path, images: Any, labels: Any) -> None:
    dataset = fdconvert.Dataset(path)
    assert len(dataset) == len(images)
    for sample, image, label in zip(dataset, images, labels, strict=True):
        assert np.array_equal(np.asarray(sample["image"]), image) and sample["label"] == label
    assert fdconvert.verify(path, deep=True)["problems"] == []


@pytest.mark.parametrize("format", FORMATS)
def test_arrays_come_back_from_every_format(format: str, tmp_path: Path) -> None:
    images, labels = samples.cifar_like()
    columns = {"image": images, "label": labels}
    out = {}
    for threads in (1, 4):
        out[threads] = tmp_path / f"columns-{threads}"
        report = fdconvert.pack(
            columns, out[threads], schema=SCHEMA, format=format, threads=threads
        )
        assert (report["samples"], report["skipped"]) == (60, [])
    check(out[1], images, labels)
    assert fdconvert.Dataset(out[1]).classes == CLASSES
    assert contents(out[1]) == contents(out[4])


@pytest.mark.parametrize("format", FORMATS)
def test_a_writer_makes_what_pack_makes(format: str, tmp_path: Path) -> None:
    images, labels = samples.cifar_like()
    options: dict[str, Any] = {"schema": SCHEMA, "format": format, "jpeg_quality": 90}
    if format == "mixed":
        options |= {"ratio": 0.5}
    fdconvert.pack({"image": images, "label": labels}, tmp_path / "packed", **options)
    written = []
    for threads in (1, 4):
        written.append(tmp_path / f"written-{threads}")
        with fdconvert.Writer(written[-1], threads=threads, **options) as writer:
            for image, label in zip(images, labels, strict=True):
                writer.write({"image": image, "label": label})
            assert len(writer) == 60 and not written[-1].exists()
    assert contents(written[0]) == contents(written[1])
    difference = fdconvert.diff(tmp_path / "packed", written[0])
    assert (difference["same"], difference["changed"]) == (60, [])


def test_shuffles_splits_and_shards_are_those_of_pack(tmp_path: Path) -> None:
    images, labels = samples.cifar_like()
    dataset = TorchLike(images, labels)
    options: dict[str, Any] = {
        "format": "wds", "shuffle": True, "seed": 3, "split": {"train": 0.8, "val": 0.2},
        "shards": 2,
    }  # fmt: skip
    report = fdconvert.pack(dataset, tmp_path / "set", **options)
    assert report["splits"] == [{"name": "train", "samples": 48}, {"name": "val", "samples": 12}]
    read = fdconvert.Dataset(tmp_path / "set", split="all")
    keys = [read.key(index) for index in range(60)]
    assert keys != sorted(keys) and sorted(keys) == [f"{n:08}.png" for n in range(60)]
    for index, key in enumerate(keys):
        assert np.array_equal(np.asarray(read[index]["image"]), images[int(key[:8])])
    with fdconvert.Writer(tmp_path / "written", **options) as writer:
        for index in range(len(dataset)):
            writer.write(dataset[index])
    again = fdconvert.Dataset(tmp_path / "written", split="all")
    assert [again.key(index) for index in range(60)] == keys


def test_every_kind_of_value(tmp_path: Path) -> None:
    sample: dict[str, Any] = {
        "image": np.full((8, 9), 7, np.uint8),
        "caption": "ein Bär",
        "score": 1.5,
        "count": np.int32(3),
        "flag": np.True_,
        "raw": b"\x00\x01",
        "boxes": {"bbox": [[1, 2, 3, 4.5]], "category": [0]},
        "embedding": np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1],
        "lone": np.float64(0.25),
    }
    out = tmp_path / "kinds.beton"
    fdconvert.pack([sample, sample], out)
    read = fdconvert.Dataset(out)[1]
    kinds = {field["name"]: field["kind"] for field in fdconvert.Dataset(out).schema["fields"]}
    assert kinds["embedding"]["array"]["shape"] == [2, 3]
    assert [kinds[name] for name in ("image", "caption", "score", "count", "flag", "raw")] == [
        "image", "text", "float", "int", "int", "bytes",
    ]  # fmt: skip
    assert np.array_equal(np.asarray(read["image"]), np.full((8, 9, 3), 7))
    assert np.array_equal(np.asarray(read["embedding"]), sample["embedding"])
    assert (read["caption"], read["score"], read["count"], read["flag"]) == ("ein Bär", 1.5, 3, 1)
    assert (read["raw"], read["boxes"], read["lone"]) == (b"\x00\x01", sample["boxes"], 0.25)


def test_files_stay_as_they_are(photos: Path, tmp_path: Path) -> None:
    files = sorted(photos.rglob("*.png"))
    forms: dict[str, Any] = {
        "bytes": [{"image": file.read_bytes()} for file in files],
        "bytearray": [{"image": bytearray(file.read_bytes())} for file in files],
        "paths": [{"image": file} for file in files],
        "rows": [{"image": {"bytes": file.read_bytes(), "path": None}} for file in files],
        "by path": [{"image": {"bytes": None, "path": str(file)}} for file in files],
    }
    for name, form in forms.items():
        out = tmp_path / name
        report = fdconvert.pack(form, out, format="mds")
        assert report["notes"] == {"kept": len(files)}, name
        stored = [fdconvert.Dataset(out).get(at)["image"]["bytes"] for at in range(len(files))]
        assert stored == [file.read_bytes() for file in files], name


def test_images_of_pillow(photos: Path, tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    file = min(photos.rglob("*.png"))
    opened, decoded = pillow.open(file), pillow.open(file)
    decoded.load()
    turned = decoded.transpose(pillow.Transpose.ROTATE_90)
    palette, gray = decoded.quantize(16), decoded.convert("L")
    images = [opened, decoded, turned, palette, gray]
    report = fdconvert.pack([{"image": image} for image in images], tmp_path / "set", format="mds")
    # Only of the first one the file is there, and nothing was changed in it.
    assert report["notes"]["kept"] == 1
    dataset = fdconvert.Dataset(tmp_path / "set")
    assert dataset.get(0)["image"]["bytes"] == file.read_bytes()
    for sample, image in zip(dataset, images, strict=True):
        assert np.array_equal(np.asarray(sample["image"]), np.asarray(image.convert("RGB")))


def test_tensors_by_their_protocol(tmp_path: Path) -> None:
    class Tensor:
        """Like one of torch: no buffer, but an array on request."""

        def __init__(self, array: Any) -> None:
            self.array, self.shape, self.dtype = array, array.shape, array.dtype

        def __array__(self) -> Any:
            return self.array

    images, labels = samples.cifar_like(3)
    pairs = [(Tensor(image), label) for image, label in zip(images, labels, strict=True)]
    fdconvert.pack(pairs, tmp_path / "set.beton")
    check(tmp_path / "set.beton", images, labels)


def test_pairs_have_the_classes_of_their_dataset(tmp_path: Path) -> None:
    dataset = TorchLike(*samples.cifar_like(5))
    dataset.classes = CLASSES
    fdconvert.pack(dataset, tmp_path / "set.beton")
    assert fdconvert.Dataset(tmp_path / "set.beton").classes == CLASSES


def test_hugging_face_by_its_features(photos: Path, tmp_path: Path) -> None:
    files = sorted(photos.rglob("*.png"))
    rows = [
        {
            "picture": {"bytes": file.read_bytes(), "path": file.name},
            "kind": number % 2,
            "text": file.name,
            "weight": number / 4,
            "tags": ["a", str(number)],
        }
        for number, file in enumerate(files)
    ]
    features = {
        "picture": samples.Image(),
        "kind": samples.ClassLabel(["even", "odd"]),
        "text": samples.Value("string"),
        "weight": samples.Value("float32"),
        "tags": [samples.Value("string")],
    }
    out = tmp_path / "set.wds"
    report = fdconvert.pack(HuggingFaceLike(rows, features), out)
    assert report["notes"] == {"kept": len(rows)}
    dataset = fdconvert.Dataset(out)
    assert dataset.classes == ["even", "odd"]
    names = {field["name"]: field["kind"] for field in dataset.schema["fields"]}
    assert names == {
        "picture": "image", "kind": "int", "text": "text", "weight": "float", "tags": "json"
    }  # fmt: skip
    for sample, row in zip(dataset, rows, strict=True):
        assert (sample["kind"], sample["text"], sample["tags"]) == (
            row["kind"], row["text"], row["tags"],
        )  # fmt: skip
    with pytest.raises(fdconvert.UsageError, match="`train`, `test`: pack each by itself"):
        both = {"train": HuggingFaceLike(rows, features), "test": HuggingFaceLike(rows, features)}
        fdconvert.pack(both, tmp_path / "x.wds")


def test_hugging_face_itself(photos: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets of Hugging Face is not installed")
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    files = sorted(photos.rglob("*.png"))
    features = datasets.Features(
        image=datasets.Image(), label=datasets.ClassLabel(names=["even", "odd"])
    )
    rows = {"image": [str(file) for file in files], "label": [n % 2 for n in range(len(files))]}
    dataset = datasets.Dataset.from_dict(rows, features=features)
    report = fdconvert.pack(dataset, tmp_path / "set", format="mds")
    assert report["notes"] == {"kept": len(files)}
    read = fdconvert.Dataset(tmp_path / "set")
    assert read.classes == ["even", "odd"] and read.labels() == rows["label"]
    assert read.get(3)["image"]["bytes"] == files[3].read_bytes()
    streamed = fdconvert.pack(dataset.to_iterable_dataset(), tmp_path / "streamed", format="mds")
    assert streamed["samples"] == len(files)
    assert fdconvert.diff(tmp_path / "set", tmp_path / "streamed")["same"] == len(files)


def test_a_mask_keeps_its_values(tmp_path: Path) -> None:
    images, _ = samples.cifar_like(4)
    masks = images[..., 0] % 5
    columns = {"image": images, "mask": masks}
    out = tmp_path / "set"
    schema = {"image": "image", "mask": "mask"}
    fdconvert.pack(columns, out, schema=schema, format="mds", jpeg_quality=50, max_side=16)
    for sample, mask in zip(fdconvert.Dataset(out), masks, strict=True):
        assert np.asarray(sample["image"]).shape == (16, 16, 3)
        assert np.array_equal(np.asarray(sample["mask"])[..., 0], mask)


def test_keys_are_given_found_or_numbers(tmp_path: Path) -> None:
    image = samples.cifar_like(1)[0][0]
    with fdconvert.Writer(tmp_path / "set.beton", jpeg_quality=90) as writer:
        writer.write({"image": image}, key="a/first.jpg")
        writer.write({"image": image, "__key__": "second", "__url__": "x"})
        writer.write({"image": image})
    dataset = fdconvert.Dataset(tmp_path / "set.beton")
    assert [dataset.key(at) for at in range(3)] == ["a/first.jpg", "second", "00000002.jpg"]
    fdconvert.pack([{"n": 1}, {"n": 2}], tmp_path / "numbers", format="mds")
    assert fdconvert.Dataset(tmp_path / "numbers").key(1) == "00000001"


def test_an_exception_of_a_sample_is_raised_or_skipped(tmp_path: Path) -> None:
    class Broken(TorchLike):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            if index == 5:
                raise ZeroDivisionError("five")
            return super().__getitem__(index)

    broken = Broken(*samples.cifar_like())
    with pytest.raises(ZeroDivisionError, match="five") as raised:
        fdconvert.pack(broken, tmp_path / "x.beton", threads=2)
    assert raised.value.__notes__ == ["fdconvert: sample `00000005.png`"]
    assert raised.traceback[-1].name == "__getitem__" and os.listdir(tmp_path) == []
    report = fdconvert.pack(broken, tmp_path / "x.beton", threads=2, on_error="skip")
    (skipped,) = report["skipped"]
    assert report["samples"] == 59 and skipped["index"] == 5
    assert skipped["reason"] == "ZeroDivisionError: five"


def test_the_first_and_the_last_sample_may_be_broken(tmp_path: Path) -> None:
    class Broken(TorchLike):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            if index in (0, 59):
                raise ZeroDivisionError(index)
            return super().__getitem__(index)

    broken, out = Broken(*samples.cifar_like()), tmp_path / "x.beton"
    with pytest.raises(ZeroDivisionError):
        fdconvert.pack(broken, out, on_error="skip")
    report = fdconvert.pack(broken, out, on_error="skip", schema=SCHEMA)
    assert [skipped["index"] for skipped in report["skipped"]] == [0, 59]
    with pytest.raises(fdconvert.DataError, match="than the 1 allowed; to allow more: max_failures$"):
        fdconvert.pack(broken, tmp_path / "y.beton", on_error="skip", schema=SCHEMA, max_failures=1)


def test_samples_that_do_not_fit_are_skipped_by_a_writer(tmp_path: Path) -> None:
    image = samples.cifar_like(1)[0][0]
    out = tmp_path / "x.beton"
    writer = fdconvert.Writer(out, on_error="skip")
    writer.write({"image": image, "n": 1})
    writer.write({"image": image, "n": "two"})
    writer.write({"image": tmp_path / "missing.png", "n": 3})
    report = writer.close()
    assert report["samples"] == 1 and len(fdconvert.Dataset(out)) == 1
    first, second = report["skipped"]
    assert first["reason"].endswith("field `n`: expected an integer of 64 bits, got str 'two'")
    assert "FileNotFoundError: " in second["reason"] and "missing.png" in second["reason"]
    with pytest.raises(fdconvert.UsageError, match="write: the writer is closed"):
        writer.write({"image": image, "n": 1})
    with pytest.raises(fdconvert.UsageError, match="close: the writer is closed"):
        writer.close()


def test_an_exception_in_the_block_or_the_iterable_leaves_nothing(tmp_path: Path) -> None:
    images, labels = samples.cifar_like()

    def breaking() -> Iterator[tuple[Any, Any]]:
        yield from zip(images, labels, strict=True)
        raise LookupError("no more")

    for on_error in (None, "skip"):
        with pytest.raises(LookupError, match="no more"):
            fdconvert.pack(breaking(), tmp_path / "x.beton", on_error=on_error)
    with pytest.raises(LookupError, match="inside"):
        with fdconvert.Writer(tmp_path / "x.beton") as writer:
            writer.write(images[0])
            raise LookupError("inside")
    assert os.listdir(tmp_path) == []
    with pytest.warns(RuntimeWarning, match="was not written: close the Writer"):
        writer = fdconvert.Writer(tmp_path / "x.beton")
        writer.write(images[0])
        del writer


IMAGE = samples.cifar_like(1)[0][0]
ARRAY = np.zeros(4, np.float32)

REFUSALS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "channels first": (
        [IMAGE.transpose(2, 0, 1)],
        {},
        "sample `00000000`: field `image`: expected an image, got ndarray of uint8 and shape"
        " (3, 32, 32); its channels come first, and belong behind height and width:"
        " `numpy.moveaxis(array, 0, -1)`, `tensor.permute(1, 2, 0)`",
    ),
    "floats": (
        [{"image": IMAGE / np.float32(255)}],
        {"schema": {"image": "image"}},
        "sample `00000000`: field `image`: expected an image, got ndarray of float32 and shape"
        " (32, 32, 3); pixels are uint8; for values from 0 to 1:"
        " (array * 255).round().astype('uint8')",
    ),
    "no image": (
        [{"image": b"text"}],
        {"schema": {"image": "image"}},
        "sample `00000000`: field `image`: expected an image, got 4 bytes; not an image of a known"
        ' kind (JPEG, PNG, BMP, WebP, TIFF, GIF, AVIF, JPEG XL): it starts with the text "text"',
    ),
    "another kind": (
        [(IMAGE, 1), (IMAGE, "a")],
        {},
        "sample `00000001`: field `label`: expected an integer of 64 bits, got str 'a'",
    ),
    "no class": (
        [(IMAGE, 1), (IMAGE, 10)],
        {"schema": SCHEMA},
        "sample `00000001`: field `label`: expected one of 10 classes, by number or name, got int"
        " 10",
    ),
    "nothing": (
        [(IMAGE, 1), (IMAGE, None)],
        {},
        "sample `00000001`: field `label`: expected an integer of 64 bits, got None; every sample"
        " needs a value",
    ),
    "missing": (
        [{"a": 1, "b": 2}, {"a": 1}],
        {},
        "sample `00000001`: it has no field `b`, only `a`",
    ),
    "more": (
        [{"a": 1}, {"a": 1, "b": 2}],
        {},
        "sample `00000001`: it has a field `b`, and the others have only `a`; a schema says which"
        " are taken",
    ),
    "more values": (
        [(IMAGE, 1), (IMAGE, 1, 2)],
        {},
        "sample `00000001`: it has 3 values for the fields `image`, `label`",
    ),
    "another shape": (
        [{"a": ARRAY}, {"a": ARRAY[:3]}],
        {},
        "sample `00000001`: field `a`: expected an array of float32 and shape (4,), got ndarray of"
        " float32 and shape (3,); all arrays of a field must have the same shape; store others as bytes (np.save)",
    ),
    "another type": (
        [{"a": ARRAY}, {"a": ARRAY.astype("f8")}],
        {},
        "sample `00000001`: field `a`: expected an array of float32 and shape (4,), got ndarray of"
        " float64 and shape (4,); array.astype(dtype) converts it",
    ),
    "no JSON": (
        [{"a": {"b": object}}],
        {},
        "sample `00000000`: field `a`: expected what JSON holds, got dict of 1; Object of type type"
        " is not JSON serializable",
    ),
    "three values": (
        [(IMAGE, 1, 2)],
        {},
        "schema: the first sample has 3 values; only pairs of image and label need no names: use"
        " dicts, or pass a schema with the names in order",
    ),
    "an object": (
        [{"a": object}],
        {},
        "schema: field `a` of the first sample is type, which fits no kind; pass a schema",
    ),
    "the name of an image": (
        [("cat/1.JPG", 3)],
        {},
        "schema: field `image` of the first sample is the text 'cat/1.JPG': for the image in that file"
        " pass a pathlib.Path; for the text pass schema={'image': 'text', ...}",
    ),
    "a number": (
        [3],
        {},
        "schema: a sample must be a dict of its fields, a pair of image and label, or an image, got"
        " int 3",
    ),
    "an unknown kind": (
        [IMAGE],
        {"schema": {"image": "picture"}},
        "schema: unknown kind `picture` of `image`; expected one of image, images, mask, int, float, text,"
        " json, bytes, (dtype, shape) or a list of class names",
    ),
    "an unknown type": (
        [IMAGE],
        {"schema": {"a": ("float128", (3,))}},
        "schema: `a` is an array of float128, which is not supported",
    ),
    "a class twice": (
        [(IMAGE, 1)],
        {"schema": {"image": "image", "label": ["a", "a"]}},
        "schema: a class name of `label` occurs twice",
    ),
    "columns": (
        {"a": [1, 2], "b": [1]},
        {},
        "sources: columns must have the same length, got `a` 2, `b` 1",
    ),
    "a table": (
        [IMAGE],
        {"labels": "x.csv"},
        "labels: it is about folders of images, and the samples come from the program; leave it"
        " out, and give what it says as fields of the samples",
    ),
    "a path": (
        "somewhere",
        {"schema": SCHEMA},
        "schema: only for samples; datasets given by path have their own fields",
    ),
    "an encoding": (
        [IMAGE],
        {"encode": "png"},
        "encode: the format `beton` cannot hold png images; choose another",
    ),
    "an option": (
        [IMAGE],
        {"jpg_quality": 3},
        "options: `jpg_quality` is unknown; did you mean `jpeg_quality`?",
    ),
    "a formula": (
        [IMAGE],
        {"format": "formula"},
        "x.beton would keep a recipe and no samples; give a recipe, or choose another format",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_what_to_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, options, text = REFUSALS[name]
    with pytest.raises(fdconvert.Error) as refused:
        fdconvert.pack(found, "x.beton", **options)
    assert str(refused.value).endswith(text) and os.listdir(tmp_path) == []


def test_a_writer_refuses_before_the_first_sample(beton: Path, tmp_path: Path) -> None:
    with pytest.raises(fdconvert.UsageError, match="exists; to replace it: overwrite=True"):
        fdconvert.Writer(beton)
    with pytest.raises(fdconvert.UsageError, match="did you mean `jpeg_quality`"):
        fdconvert.Writer(tmp_path / "x.beton", jpg_quality=90)
    with pytest.raises(fdconvert.UsageError, match="jpeg_quality: 101 is not from 1 to 100"):
        fdconvert.Writer(tmp_path / "x.beton", jpeg_quality=101)
    fdconvert.pack([IMAGE], tmp_path / "set", format="wds")
    with pytest.raises(fdconvert.UsageError, match="holds another dataset"):
        fdconvert.Writer(tmp_path / "set", format="wds", max_side=8)
    with pytest.raises(fdconvert.UsageError, match="write: no sample was written"):
        fdconvert.Writer(tmp_path / "x.beton").close()
    assert os.listdir(tmp_path) == ["set"]


def test_samples_are_asked_for_by_the_calling_thread(tmp_path: Path) -> None:
    import threading

    asked = set()

    class Watched(TorchLike):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            asked.add(threading.get_ident())
            return super().__getitem__(index)

    fdconvert.pack(Watched(*samples.cifar_like()), tmp_path / "x.beton", threads=4)
    assert asked == {threading.get_ident()}


def test_paths_are_still_paths(photos: Path, tmp_path: Path) -> None:
    folders = (photos / name for name in ("even", "odd"))
    assert fdconvert.pack(folders, tmp_path / "x.beton", max_side=32)["samples"] == 12
    plan = fdconvert.pack(
        samples.cifar_like(5)[0], tmp_path / "y.beton", dry_run=True, schema={"image": "image"}
    )
    assert plan["document"] == "fdconvert-plan" and plan["samples"] == 5
    assert not (tmp_path / "y.beton").exists()
