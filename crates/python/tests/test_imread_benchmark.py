"""The decoder for imread_benchmark, with a base class that stands in for the benchmark's."""

import importlib
import sys
import types
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert

GROUP = "imread_benchmark.decoders"


@pytest.fixture
def decoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The class of the entry point, as the benchmark loads it."""
    modules = {name: types.ModuleType(name) for name in ["imread_benchmark", GROUP]}
    modules[GROUP].BaseDecoder = type("BaseDecoder", (), {})  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "fdconvert.imread_benchmark", raising=False)
    loaded = [entry.load() for entry in entry_points(group=GROUP) if entry.name == "fdconvert"]
    assert len(loaded) == 1
    yield loaded[0]
    # What was made with the stand-in is not for others.
    sys.modules.pop("fdconvert.imread_benchmark", None)


def test_the_benchmark_finds_a_decoder_with_its_contract(decoder: Any, beton: Path) -> None:
    assert issubclass(decoder, sys.modules[GROUP].BaseDecoder)
    assert (decoder.name, decoder.package_name) == ("fdconvert", "fdconvert")
    dataset = fdconvert.Dataset(beton)
    for index in range(3):
        data = dataset.get(index)["image"]["bytes"]
        pixels = decoder().decode(data)
        assert isinstance(pixels, np.ndarray)
        assert (pixels.dtype.name, pixels.ndim, pixels.shape[2]) == ("uint8", 3, 3)
        assert pixels.flags.c_contiguous and pixels.flags.writeable
        assert np.array_equal(pixels, np.asarray(dataset[index]["image"]))


def test_pixels_outlive_the_bytes_and_the_decoder(decoder: Any, beton: Path) -> None:
    dataset = fdconvert.Dataset(beton)
    data = bytearray(dataset.get(0)["image"]["bytes"])
    pixels = decoder().decode(bytes(data))
    data[:] = bytes(len(data))
    del data
    assert np.array_equal(pixels, np.asarray(dataset[0]["image"]))


def test_nothing_needs_the_benchmark_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imread_benchmark", None)
    monkeypatch.delitem(sys.modules, "fdconvert.imread_benchmark", raising=False)
    with pytest.raises(ImportError, match="needs imread_benchmark and NumPy"):
        importlib.import_module("fdconvert.imread_benchmark")


def test_the_benchmark_itself_takes_it() -> None:
    decoders = pytest.importorskip(GROUP, reason="imread_benchmark is not installed")
    assert issubclass(decoders.REGISTRY["fdconvert"], decoders.BaseDecoder)
