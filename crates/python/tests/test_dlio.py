"""The data loaders for DLIO, with a base class that stands in for DLIO's.

The last test runs where DLIO itself is installed, and is skipped with its reason elsewhere.
"""

import importlib
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert._dlio_order import Shuffled


@dataclass
class Settings:
    """What the loaders read of DLIO's arguments."""

    data_folder: str
    total_samples_train: int = 12
    batch_size: int = 2
    read_threads: int = 2
    prefetch_size: int = 2
    my_rank: int = 0
    comm_size: int = 1
    sample_shuffle: str = "off"
    seed: int = 123
    seed_change_epoch: bool = True
    transformed_record_dims: list[int] = field(default_factory=list)


def fake_dlio(settings: Settings) -> dict[str, types.ModuleType]:
    """The modules of DLIO that are imported, with a base class that does what DLIO's does."""

    class BaseDataLoader:
        def __init__(self, format_type: Any, dataset_type: Any, epoch_number: int, kind: Any):
            assert kind == "pytorch"
            self._args = settings
            self.epoch_number = epoch_number
            self.num_samples = settings.total_samples_train
            self.batch_size = settings.batch_size

        def next(self) -> None:
            pass

    names = ["common.enumerations", "data_loader.base_data_loader"]
    modules = {f"dlio_benchmark.{name}": types.ModuleType(name) for name in names}
    kinds = types.SimpleNamespace(PYTORCH="pytorch")
    modules["dlio_benchmark.common.enumerations"].DataLoaderType = kinds  # type: ignore[attr-defined]
    modules["dlio_benchmark.data_loader.base_data_loader"].BaseDataLoader = BaseDataLoader  # type: ignore[attr-defined]
    for name in ["", ".common", ".data_loader"]:
        modules[f"dlio_benchmark{name}"] = types.ModuleType(f"dlio_benchmark{name}")
    return modules


@pytest.fixture
def settings(beton: Path, tmp_path: Path) -> Settings:
    (tmp_path / "train").mkdir()
    (tmp_path / "train.beton").symlink_to(beton)
    return Settings(str(tmp_path))


@pytest.fixture
def dlio(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, module in fake_dlio(settings).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "fdconvert.dlio", raising=False)
    for name in ["FDCONVERT_DLIO_TRAIN", "FDCONVERT_DLIO_VALID"]:
        monkeypatch.delenv(name, raising=False)
    yield importlib.import_module("fdconvert.dlio")
    # What was made with the stand-in is not for others.
    sys.modules.pop("fdconvert.dlio", None)


def epoch(loader: Any) -> list[list[bytes]]:
    return list(loader.next())


def test_batches_are_the_stored_bytes_in_order(
    dlio: Any, settings: Settings, beton: Path
) -> None:
    stored = fdconvert.Dataset(beton)
    due = [stored.get(index)["image"]["bytes"] for index in range(12)]
    loader = dlio.StoredImages("jpeg", "train", 1)
    loader.read()
    for _ in range(2):
        batches = epoch(loader)
        assert [len(batch) for batch in batches] == [2] * 6
        assert [image for batch in batches for image in batch] == due
    loader.finalize()


def test_ranks_share_the_samples_and_each_has_as_many_steps(
    dlio: Any, settings: Settings, beton: Path
) -> None:
    settings.sample_shuffle = "seed"
    settings.comm_size, seen = 3, []
    for settings.my_rank in range(3):
        loader = dlio.StoredImages("jpeg", "train", 1)
        loader.read()
        batches = epoch(loader)
        assert len(batches) == 2
        seen += [image for batch in batches for image in batch]
    stored = fdconvert.Dataset(beton)
    assert sorted(seen) == sorted(stored.get(index)["image"]["bytes"] for index in range(12))


def test_epochs_have_other_orders_unless_the_workload_says_no(
    dlio: Any, settings: Settings
) -> None:
    settings.sample_shuffle = "seed"
    loader = dlio.StoredImages("jpeg", "train", 1)
    loader.read()
    first, second = epoch(loader), epoch(loader)
    assert first != second
    again = dlio.StoredImages("jpeg", "train", 1)
    again.read()
    assert epoch(again) == first
    settings.seed_change_epoch = False
    same = dlio.StoredImages("jpeg", "train", 1)
    same.read()
    assert epoch(same) == epoch(same)


def test_an_epoch_that_is_left_early_leaves_no_thread(dlio: Any, settings: Settings) -> None:
    import threading

    loader = dlio.StoredImages("jpeg", "train", 1)
    loader.read()
    batches = loader.next()
    next(batches)
    batches.close()
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("fdconvert-dlio")]
    assert len(epoch(loader)) == 6


def test_pixels_have_the_size_of_the_workload(dlio: Any, settings: Settings) -> None:
    settings.transformed_record_dims = [32, 48, 3]
    loader = dlio.DecodedImages("jpeg", "train", 1)
    loader.read()
    for _ in range(2):
        shapes = [np.asarray(images).shape for images in loader.next()]
        assert shapes == [(2, 32, 48, 3)] * 6
    settings.transformed_record_dims = []
    plain = dlio.DecodedImages("jpeg", "train", 1)
    plain.read()
    assert np.asarray(next(plain.next())).shape == (2, 224, 224, 3)


def test_which_dataset_is_read(
    dlio: Any, settings: Settings, beton: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(settings.data_folder)
    assert dlio.StoredImages("jpeg", "train", 1).path == str(folder / "train.beton")
    # Of the evaluation there is only the folder of files.
    assert dlio.StoredImages("jpeg", "valid", 1).path == str(folder / "valid")
    monkeypatch.setenv("FDCONVERT_DLIO_VALID", str(photos))
    assert dlio.StoredImages("jpeg", "valid", 1).path == str(photos)
    (folder / "train.wds").mkdir()
    with pytest.raises(fdconvert.UsageError, match=r"train\.beton, train\.wds.*DLIO_TRAIN"):
        dlio.StoredImages("jpeg", "train", 1)


def test_too_small_a_dataset_is_an_error(dlio: Any, settings: Settings) -> None:
    settings.total_samples_train = 13
    for loader in [dlio.StoredImages("jpeg", "train", 1), dlio.DecodedImages("jpeg", "train", 1)]:
        with pytest.raises(fdconvert.UsageError, match="has 12 samples, but the workload needs 13"):
            loader.read()


@pytest.mark.parametrize("length", [1, 2, 3, 7, 64, 65, 1000])
def test_a_shuffled_order_is_a_permutation(length: int) -> None:
    order = Shuffled(length, 5)
    assert sorted(map(order.at, range(length))) == list(range(length))
    if length > 60:
        other = Shuffled(length, 6)
        assert list(map(order.at, range(length))) != list(map(other.at, range(length)))
        assert list(map(order.at, range(length))) != list(range(length))


def test_nothing_needs_dlio_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dlio_benchmark", None)
    monkeypatch.delitem(sys.modules, "fdconvert.dlio", raising=False)
    with pytest.raises(ImportError, match="needs DLIO, which is not installed here"):
        importlib.import_module("fdconvert.dlio")


def test_dlio_itself_takes_the_loaders() -> None:
    base = pytest.importorskip(
        "dlio_benchmark.data_loader.base_data_loader", reason="DLIO is not installed"
    )
    module = importlib.import_module("fdconvert.dlio")
    for loader in [module.StoredImages, module.DecodedImages]:
        assert issubclass(loader, base.BaseDataLoader)
        assert not loader.__abstractmethods__
