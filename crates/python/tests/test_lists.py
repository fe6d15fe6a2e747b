"""Samples with lists of images, from Hugging Face datasets through every format, and back."""

import hashlib
import io
import json
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert

datasets = pytest.importorskip("datasets", reason="datasets of Hugging Face is not installed")
PIL = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

SPECIFIED = ["dataset.beton", "dataset.mds", "dataset.parquet", "dataset.wds"]


def image(number: int) -> bytes:
    file = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (5 + number % 7, 4 + number % 5, 3))
    codec = "PNG" if number % 3 else "JPEG"
    PIL.fromarray(pixels.astype(np.uint8)).save(file, codec)
    return file.getvalue()


def lists() -> list[list[bytes]]:
    """Eleven lists of 0 to 10 images."""
    return [[image(100 * length + at) for at in range(length)] for length in range(11)]


def texts() -> list[str]:
    return ["a <image> " * len(images) + "and the rest" for images in lists()]


@pytest.fixture(scope="module")
def dialogues() -> Any:
    """A dataset with lists of images and a text with their placeholders."""
    features = datasets.Features(
        images=datasets.List(datasets.Image()), text=datasets.Value("string")
    )
    stored = [[{"bytes": it, "path": None} for it in images] for images in lists()]
    return datasets.Dataset.from_dict({"images": stored, "text": texts()}, features=features)


@pytest.fixture(scope="module")
def parquet(dialogues: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as the file that ``datasets`` writes."""
    path: Path = tmp_path_factory.mktemp("lists") / "dialogues.parquet"
    dialogues.to_parquet(path)
    return path


def stored(dataset: fdconvert.Dataset, field: str = "images") -> list[list[bytes]]:
    rows = (dataset.get(index)[field] for index in range(len(dataset)))
    return [[image["bytes"] for image in row] for row in rows]


def decoded(content: bytes) -> np.ndarray:
    return np.asarray(fdconvert.decode(content))


def same(images: list[Any], contents: list[bytes]) -> bool:
    found = [np.asarray(image) for image in images]
    wanted = [decoded(content) for content in contents]
    return len(found) == len(wanted) and all(
        np.array_equal(one, other) for one, other in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("source", ["file", "dataset", "stream"])
@pytest.mark.parametrize("name", SPECIFIED)
def test_all_bytes_are_equal(
    dialogues: Any, parquet: Path, source: str, name: str, tmp_path: Path
) -> None:
    sources = {"file": parquet, "dataset": dialogues, "stream": dialogues.to_iterable_dataset()}
    report = fdconvert.pack(sources[source], tmp_path / name)
    assert report["samples"] == 11 and not any("base64" in it for it in report["split_notes"])
    dataset = fdconvert.Dataset(tmp_path / name)
    kinds = {field["name"]: field["kind"] for field in dataset.schema["fields"]}
    assert kinds == {"images": "images", "text": "text"}
    assert stored(dataset) == lists()
    assert [dataset[at]["text"] for at in range(11)] == texts()
    assert all(same(dataset[at]["images"], images) for at, images in enumerate(lists()))
    assert fdconvert.verify(tmp_path / name, deep=True)["problems"] == []


def test_every_format_leads_to_every_other(parquet: Path, tmp_path: Path) -> None:
    before = parquet
    for number, name in enumerate([*SPECIFIED, "folder", *reversed(SPECIFIED)]):
        out = tmp_path / f"{number}{name}"
        options: dict[str, Any] = {"format": "folder"} if name == "folder" else {}
        fdconvert.pack(before, out, **options)
        assert stored(fdconvert.Dataset(out)) == lists(), name
        found = fdconvert.diff(before, out)
        assert (found["same"], found["changed"]) == (11, []), name
        before = out
    assert len(list(tmp_path.glob("4folder/*.images.*"))) == sum(range(11))


@pytest.mark.parametrize("name", SPECIFIED)
def test_batches_have_the_images_of_each_row(parquet: Path, name: str, tmp_path: Path) -> None:
    fdconvert.pack(parquet, tmp_path / name)
    loader = fdconvert.Loader(
        tmp_path / name,
        batch_size=4,
        label=None,
        fields=["images", "text"],
        sampling=fdconvert.Sequential(),
    )
    rows = [
        (text, images)
        for _, _, fields in loader
        for text, images in zip(fields["text"], fields["images"], strict=True)
    ]
    assert [text for text, _ in rows] == texts()
    assert all(same(images, wanted) for (_, images), wanted in zip(rows, lists(), strict=True))


def test_lists_stay_with_the_image_of_their_sample(tmp_path: Path) -> None:
    photo = np.zeros((8, 8, 3), np.uint8)
    samples = [{"image": photo, "views": images} for images in lists()[1:]]
    fdconvert.pack(samples, tmp_path / "x.mds")
    loader = fdconvert.Loader(
        tmp_path / "x.mds",
        batch_size=5,
        label=None,
        fields=["views"],
        transform=[fdconvert.transforms.Resize((4, 4))],
    )
    seen = 0
    for batch in loader.batches():
        assert np.asarray(batch.images).shape == (5, 4, 4, 3)
        for number, images in zip(batch.samples, batch.fields["views"], strict=True):
            assert same(images, lists()[1 + int(number)])
            seen += 1
    assert seen == 10


def test_parquet_is_what_datasets_reads_and_writes(
    dialogues: Any, parquet: Path, tmp_path: Path
) -> None:
    out = tmp_path / "ours.parquet"
    fdconvert.pack(parquet, out)
    loaded = datasets.load_dataset("parquet", data_files=str(out), split="train")
    assert loaded.features["images"] == dialogues.features["images"]
    assert loaded["text"][:] == texts()
    plain = loaded.cast_column("images", datasets.List(datasets.Image(decode=False)))
    assert [[image["bytes"] for image in row] for row in plain["images"]] == lists()
    assert all(
        np.array_equal(np.asarray(one), decoded(other))
        for one, other in zip(loaded[10]["images"], lists()[10], strict=True)
    )


def test_a_folder_of_files_is_loaded_with_its_features(
    dialogues: Any, parquet: Path, tmp_path: Path
) -> None:
    out = tmp_path / "hub"
    fdconvert.pack(parquet, out, format="parquet", shards=3, shuffle=True)
    assert len(list((out / "data").glob("train-*-of-00003.parquet"))) == 3
    loaded = datasets.load_dataset(str(out), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.features == dialogues.features
    plain = loaded.cast_column("images", datasets.List(datasets.Image(decode=False)))
    found = {row["text"]: [image["bytes"] for image in row["images"]] for row in plain}
    assert found == dict(zip(texts(), lists(), strict=True))


FORMS = {
    "List": {"feature": {"_type": "Image"}, "_type": "List"},
    "Sequence": {"feature": {"_type": "Image"}, "_type": "Sequence"},
    "brackets": [{"_type": "Image"}],
    "none": None,
}


@pytest.mark.parametrize("form", FORMS)
def test_features_of_all_versions_are_read(parquet: Path, form: str, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    table = pq.read_table(parquet)
    features = {"images": FORMS[form], "text": {"dtype": "string", "_type": "Value"}}
    text = json.dumps({"info": {"features": features}})
    known = {} if FORMS[form] is None else {"huggingface": text}
    pq.write_table(table.replace_schema_metadata(known), tmp_path / "x.parquet")
    assert stored(fdconvert.Dataset(tmp_path / "x.parquet")) == lists()


def test_a_list_that_is_null_is_empty_and_an_image_that_is_null_an_error(tmp_path: Path) -> None:
    features = datasets.Features(images=datasets.List(datasets.Image()))
    rows = {"images": [[{"bytes": image(1), "path": None}], None, [None]]}
    dataset = datasets.Dataset.from_dict(rows, features=features)
    dataset.to_parquet(tmp_path / "x.parquet")
    found = fdconvert.Dataset(tmp_path / "x.parquet")
    assert (len(found[0]["images"]), len(found[1]["images"])) == (1, 0)
    with pytest.raises(fdconvert.Error, match="field `images`: image 0: it is null"):
        found[2]
    fdconvert.pack(dataset.select([0, 1]), tmp_path / "x.beton")
    assert stored(fdconvert.Dataset(tmp_path / "x.beton")) == [[image(1)], []]
    with pytest.raises(fdconvert.Error, match="field `images`, image 0: expected an image"):
        fdconvert.pack(dataset, tmp_path / "y.beton")


def test_what_python_has_becomes_a_list(tmp_path: Path) -> None:
    array = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    path = tmp_path / "one.png"
    path.write_bytes(image(1))
    value = [image(2), path, array, PIL.fromarray(array), {"bytes": image(4), "path": None}]
    fdconvert.pack([{"images": value}, {"images": [array]}], tmp_path / "x.wds")
    dataset = fdconvert.Dataset(tmp_path / "x.wds")
    found = [np.asarray(it) for it in dataset[0]["images"]]
    wanted = [decoded(image(2)), decoded(image(1)), array, array, decoded(image(4))]
    assert all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))
    with fdconvert.Writer(tmp_path / "y.parquet", schema={"images": "images"}) as writer:
        writer.write({"images": []})
        writer.write({"images": (image(5),)})
    assert stored(fdconvert.Dataset(tmp_path / "y.parquet")) == [[], [image(5)]]
    with pytest.raises(fdconvert.Error, match="expected a list of images"):
        fdconvert.pack([{"images": 7}], tmp_path / "z.wds", schema={"images": "images"})


def test_options_of_images_hold_for_each_image_of_a_list(tmp_path: Path) -> None:
    samples = [{"images": images} for images in lists()[1:4]]
    options: Any = {"x.mds": {"encode": "png"}, "x.beton": {"encode": "raw"}}
    for name, encoded in options.items():
        fdconvert.pack(samples, tmp_path / name, max_side=4, **encoded)
        dataset = fdconvert.Dataset(tmp_path / name)
        for at in range(3):
            images = dataset.get(at)["images"]
            assert len(images) == at + 1
            wanted = ["png", "jpeg"] if name == "x.beton" else ["png"]
            assert all(it["codec"] in wanted for it in images)
            assert all(max(it["width"], it["height"]) == 4 for it in images)


def test_what_cannot_say_that_it_is_a_list_refuses_it(tmp_path: Path) -> None:
    samples = [{"views": [image(1)]}]
    with pytest.raises(fdconvert.UsageError, match="do not say that `views` is a list of images"):
        fdconvert.pack(samples, tmp_path / "x.beton", compat="ffcv", encode="raw")
    with pytest.raises(fdconvert.UsageError, match="`views` is a list of images: leave out `hf`"):
        fdconvert.pack(samples, tmp_path / "x.wds", sidecars="fdx,hf")


def test_a_mixed_set_refuses_lists(tmp_path: Path) -> None:
    samples = [{"image": image(0), "views": [image(1)]}]
    with pytest.raises(fdconvert.UsageError, match="field `views` is a list of images"):
        fdconvert.pack(samples, tmp_path / "x", format="mixed", ratio=0.5)


def test_shards_have_numbered_members_that_webdataset_reads(parquet: Path, tmp_path: Path) -> None:
    fdconvert.pack(parquet, tmp_path / "x.wds")
    with tarfile.open(tmp_path / "x.wds" / "train-000000.tar") as shard:
        names = [name for name in shard.getnames() if name.startswith("00000003.")]
    extensions = ["png" if number % 3 else "jpg" for number in (300, 301, 302)]
    wanted = [f"00000003.images.{at}.{kind}" for at, kind in enumerate(extensions)]
    assert names == [*wanted, "00000003.text.txt"]
    webdataset = pytest.importorskip("webdataset", reason="webdataset is not installed")
    shards = webdataset.WebDataset(
        str(tmp_path / "x.wds" / "train-000000.tar"), shardshuffle=False
    )
    for sample, images in zip(shards, lists(), strict=True):
        members = sorted(name for name in sample if name.startswith("images."))
        numbered = sorted(members, key=lambda name: int(name.split(".")[1]))
        assert [sample[name] for name in numbered] == images


def test_streaming_gives_the_bytes_of_a_list(parquet: Path, tmp_path: Path) -> None:
    streaming = pytest.importorskip("streaming", reason="streaming of MosaicML is not installed")
    fdconvert.pack(parquet, tmp_path / "x.mds", format="mds")
    rows = streaming.StreamingDataset(local=str(tmp_path / "x.mds"), batch_size=1)
    for at, images in enumerate(lists()):
        value = rows[at]["images"]
        n = int(np.frombuffer(value, "<u8", 1)[0])
        ends = np.frombuffer(value, "<u8", n + 1, 8)
        assert [value[ends[i] : ends[i + 1]] for i in range(n)] == images


def test_a_column_of_bytes_is_taken_apart_in_five_lines(parquet: Path, tmp_path: Path) -> None:
    fdconvert.pack(parquet, tmp_path / "x.beton")
    content = (tmp_path / "x.beton").read_bytes()
    images = lists()[4]
    at = content.index(b"".join(images)) - 16 - 8 * len(images)
    value = content[at : at + 16 + 8 * len(images) + sum(map(len, images))]
    n = int(np.frombuffer(value, "<u8", 1)[0])
    ends = np.frombuffer(value, "<u8", n + 1, 8)
    assert [value[ends[i] : ends[i + 1]] for i in range(n)] == images


BMP = b"BM" + struct.pack("<IHHIIiiHHIIiiII", 58, 0, 0, 54, 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0)
BMP += bytes([255, 255, 255, 0])
"""An image file that no encoder of another version changes."""


def test_the_bytes_of_lists_never_change(tmp_path: Path) -> None:
    samples = [{"views": [BMP] * n, "text": "a" * n} for n in (2, 0, 11)]
    schema: Any = {"views": "images", "text": "text"}
    found = {}
    for name, files in [("x.wds", "*.tar"), ("x.mds", "*.mds")]:
        fdconvert.pack(samples, tmp_path / name, schema=schema)
        (shard,) = (tmp_path / name).glob(files)
        found[name] = hashlib.sha256(shard.read_bytes()).hexdigest()[:16]
    assert found == {"x.wds": "65648c1d1bbdfbac", "x.mds": "24362b62e74e0a46"}


def test_damage_to_any_image_of_a_list_is_seen(parquet: Path, tmp_path: Path) -> None:
    for name in SPECIFIED:
        out = tmp_path / name
        fdconvert.pack(parquet, out)
        files = [out] if out.is_file() else [*out.glob("*.tar"), *out.glob("*.mds")]
        content = bytearray(files[0].read_bytes())
        last = lists()[10][-1]
        content[content.index(last) + len(last) // 2] ^= 1
        files[0].write_bytes(content)
        with pytest.raises(fdconvert.Error):
            fdconvert.Dataset(out)[10]
