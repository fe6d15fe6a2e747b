"""A folder of Parquet files is, to Hugging Face `datasets` and the Hub, what its card says."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert

datasets = pytest.importorskip("datasets", reason="datasets of Hugging Face is not installed")
huggingface_hub = pytest.importorskip("huggingface_hub")
PIL = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

CLASSES = ["a: cat", 'the "dog"', "eel"]


def sample(number: int) -> dict[str, Any]:
    rng = np.random.default_rng(number)
    file = io.BytesIO()
    pixels = rng.integers(0, 256, (8, 6 + number % 3, 3), dtype=np.uint8)
    PIL.fromarray(pixels).save(file, "PNG")
    return {
        "image": file.getvalue(),
        "label": number % 3,
        "text": f"a caption: {number}",
        "share": number / 7,
        "objects": {"bbox": [[1, 2, 3, number]]},
        "raw": bytes([number, 0, 255]),
        "vector": rng.random(3, dtype=np.float32),
        "matrix": rng.integers(0, 9, (2, 2), dtype=np.int64),
        "deep": np.arange(48, dtype=np.uint8).reshape(1, 2, 1, 2, 3, 4) + np.uint8(number),
    }


SCHEMA: dict[str, Any] = {
    "image": "image",
    "label": CLASSES,
    "text": "text",
    "share": "float",
    "objects": "json",
    "raw": "bytes",
    "vector": ("float32", (3,)),
    "matrix": ("int64", (2, 2)),
    "deep": ("uint8", (1, 2, 1, 2, 3, 4)),
}


def features() -> Any:
    deep = datasets.Value("uint8")
    for length in [4, 3, 2, 1, 2, 1]:
        deep = datasets.List(deep, length=length)
    return datasets.Features(
        image=datasets.Image(),
        label=datasets.ClassLabel(names=CLASSES),
        text=datasets.Value("string"),
        share=datasets.Value("float64"),
        objects=datasets.Value("string"),
        raw=datasets.Value("binary"),
        vector=datasets.List(datasets.Value("float32"), length=3),
        matrix=datasets.Array2D((2, 2), "int64"),
        deep=deep,
    )


def load(folder: Path, cache: Path) -> Any:
    return datasets.load_dataset(str(folder), cache_dir=str(cache))


def same(loaded: Any, numbers: list[int]) -> None:
    rows = list(loaded.cast_column("image", datasets.Image(decode=False)))
    assert len(rows) == len(numbers)
    for row, number in zip(rows, numbers, strict=True):
        wanted = sample(number)
        assert row["image"]["bytes"] == wanted["image"]
        for name in ["label", "text", "share", "raw"]:
            assert row[name] == wanted[name], name
        for name in ["vector", "matrix", "deep"]:
            assert np.array_equal(np.asarray(row[name]), wanted[name]), name


def test_a_card_gives_splits_features_and_every_value(tmp_path: Path) -> None:
    out = tmp_path / "set"
    samples = [sample(number) for number in range(12)]
    split = {"train": 0.75, "held_out": 0.25}
    fdconvert.pack(
        samples, out, schema=SCHEMA, format="parquet", split=split, seed=3, shard_count=4
    )
    names = sorted(path.name for path in (out / "data").iterdir())
    assert names[-1].startswith("train-") and all("-of-" in name for name in names)
    loaded = load(out, tmp_path / "cache")
    assert list(loaded) == ["train", "held_out"]
    packed = fdconvert.Dataset(out, split="all")
    texts = [text.rsplit(" ", 1)[1] for text in (s["text"] for s in packed)]
    numbers = [int(text) for text in texts]
    assert sorted(numbers) == list(range(12))
    start = 0
    for part in loaded.values():
        assert part.features == features()
        same(part, numbers[start : start + len(part)])
        start += len(part)
    # Without a card the names alone tell the splits, and the files the features.
    (out / "README.md").unlink()
    again = load(out, tmp_path / "other cache")
    assert {name: len(part) for name, part in again.items()} == {
        name: len(part) for name, part in loaded.items()
    }
    assert again["train"].features["label"].names == CLASSES


def test_the_hub_reads_the_card(tmp_path: Path) -> None:
    infos: Any = pytest.importorskip("datasets.info").DatasetInfosDict
    configs: Any = pytest.importorskip("datasets.utils.metadata").MetadataConfigs

    out = tmp_path / "set"
    samples = [sample(number) for number in range(5)]
    fdconvert.pack(samples, out, schema=SCHEMA, format="parquet", shard_count=2)
    card = huggingface_hub.DatasetCard.load(out / "README.md")
    info = infos.from_dataset_card_data(card.data)["default"]
    size = sum(path.stat().st_size for path in (out / "data").iterdir())
    assert (info.download_size, info.dataset_size) == (size, size)
    assert (info.splits["train"].num_examples, info.splits["train"].num_bytes) == (5, size)
    assert info.features == features()
    config = configs.from_dataset_card_data(card.data)["default"]
    assert config["data_files"] == [{"split": "train", "path": "data/train-*"}]
    # What `datasets` makes of the card is what it would write.
    data = huggingface_hub.DatasetCardData()
    infos({"default": info}).to_dataset_card_data(data)
    written, ours = data.to_dict()["dataset_info"], card.data.to_dict()["dataset_info"]
    assert written["splits"] == ours["splits"]
    assert written["features"] == ours["features"]


def test_edits_and_streams_are_loaded_whole(tmp_path: Path) -> None:
    out = tmp_path / "set"

    def stream(numbers: range) -> Iterator[dict[str, Any]]:
        for number in numbers:
            yield sample(number)

    fdconvert.pack(stream(range(5)), out, schema=SCHEMA, format="parquet", shard_count=2)
    names = sorted(path.name for path in (out / "data").iterdir())
    assert names == [f"train-0000{n}-of-00000.parquet" for n in range(3)]
    same(load(out, tmp_path / "1")["train"], list(range(5)))
    with fdconvert.Writer(out, schema=SCHEMA, append=True) as writer:
        for number in range(5, 8):
            writer.write(sample(number))
    same(load(out, tmp_path / "2")["train"], list(range(8)))
    fdconvert.remove(out, where="text == 'a caption: 1'")
    left = [0, *range(2, 8)]
    same(load(out, tmp_path / "3")["train"], left)
    (out / "README.md").unlink()
    same(load(out, tmp_path / "4")["train"], left)
    # A user's own card is kept, and a remark says that its sizes may be wrong.
    (out / "README.md").write_text("---\nlicense: mit\n---\n")
    edited = fdconvert.remove(out, where="text == 'a caption: 2'")
    assert "stays as it is" in str(edited["remarks"])
    same(load(out, tmp_path / "5")["train"], [0, *range(3, 8)])
