"""Datasets that have splits: one is named, or all are meant."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fdconvert

FILES = ["train/a/0.png", "train/a/1.png", "train/b/2.png", "val/b/3.png"]


@pytest.fixture(params=["folder", "wds", "mds"])
def dataset(request: pytest.FixtureRequest, photos: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "im"
    for photo, file in zip(sorted(photos.rglob("*.png")), FILES, strict=False):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(photo, folder / file)
    if request.param == "folder":
        return folder
    out = tmp_path / "out"
    fdconvert.pack(folder, out, format=request.param)
    return out


@pytest.mark.parametrize(
    ("kind", "cure"),
    [
        (fdconvert.Dataset, 'split="{}"'),
        (fdconvert.Loader, 'fdconvert.Dataset(path).split("{}")'),
    ],
)
def test_several_splits_unasked_are_an_error_that_lists_them(
    kind: Callable[..., Any], cure: str, dataset: Path
) -> None:
    with pytest.raises(fdconvert.UsageError) as raised:
        # A dataset may be narrowed to a split before it is used.
        len(kind(dataset))
    said = str(raised.value)
    for part in ["train 3, val 1", cure.format("train"), cure.format("all")]:
        assert part in said
    with pytest.raises(fdconvert.UsageError, match="`test` is not one of the splits of .*train, val"):
        fdconvert.Dataset(dataset, split="test")
    with pytest.raises(TypeError, match="split"):
        fdconvert.Dataset(dataset, split=1)  # type: ignore[arg-type]


def test_a_dataset_of_one_split_has_its_samples_and_all_classes(dataset: Path) -> None:
    train = fdconvert.Dataset(dataset, split="train")
    assert train.labels() == [0, 0, 1]
    assert train.classes == ["a", "b"]
    assert fdconvert.Dataset(dataset, split=["train"]).labels() == [0, 0, 1]
    assert pickle.loads(pickle.dumps(train)).labels() == [0, 0, 1]
    assert fdconvert.Dataset(dataset, split="val").key(0) == "val/b/3.png"
    assert len(fdconvert.Dataset(dataset, split=["val", "train"])) == 4
    assert len(fdconvert.Dataset(dataset, split="all")) == 4


def test_a_loader_takes_the_split_that_is_named(dataset: Path) -> None:
    def labels(samples: fdconvert.Dataset) -> list[int]:
        in_order = fdconvert.Sequential()
        with fdconvert.Loader(samples, 8, output="array", sampling=in_order) as loader:
            return [int(label) for _, batch in loader for label in memoryview(batch).tolist()]

    train, val = (fdconvert.Dataset(dataset).split(name) for name in ("train", "val"))
    assert labels(train) == labels(fdconvert.Dataset(dataset, split="train")) == [0, 0, 1]
    assert labels(val) == [1]
    assert labels(fdconvert.Dataset(dataset).split("all")) == [0, 0, 1, 1]
    assert sorted(labels(fdconvert.concat([val, train]))) == [0, 0, 1, 1]
    loader = fdconvert.Loader(train, 2)
    next(iter(loader))
    again = pickle.loads(pickle.dumps(loader))
    assert len(again) == 2
    with pytest.raises(fdconvert.UsageError):
        fdconvert.Loader(val, 2).load_state_dict(loader.state_dict())


def test_what_looks_at_a_dataset_takes_all_splits_or_the_named_one(
    dataset: Path, tmp_path: Path
) -> None:
    looks: list[Any] = [fdconvert.stats, fdconvert.verify, fdconvert.inspect]
    for look in looks:
        assert look(dataset)["samples"] == 4
        assert look(dataset, split="val")["samples"] == 1
        assert look(dataset, split=["train", "val"])["samples"] == 4
    assert fdconvert.unpack(dataset, tmp_path / "back", split="val")["samples"] == 1
    assert fdconvert.sheet(dataset, tmp_path / "o.png", split="val")["samples"][0]["index"] == 0
    assert fdconvert.find_duplicates(dataset, split="train")["samples"] == [3]
    assert fdconvert.diff(dataset, dataset, split="val")["same"] == 1
