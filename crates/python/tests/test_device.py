"""Batches on a GPU that is none: a library in the place of the driver runs the kernels here."""

import ctypes
import gc
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import DeviceError, Loader, UsageError
from fdconvert import transforms as T
from loading import CROPS, SMALL

# The driver's number for an address that is none.
ILLEGAL_ADDRESS = 700


class Counters(ctypes.Structure):
    """What is alive in the library, and what has happened."""

    _fields_ = [
        (name, ctypes.c_uint32)
        for name in [
            "device_memory", "host_memory", "streams", "events", "modules", "contexts", "pushed",
            "calls", "launches", "violations",
        ]
    ]  # fmt: skip


class Fake:
    """The library, which the loader has loaded as well."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.fake_cuda_reset()

    def counters(self) -> dict[str, int]:
        counters = Counters()
        self.library.fake_cuda_counters(ctypes.byref(counters))
        return {name: getattr(counters, name) for name, *_ in Counters._fields_}

    def fail(self, call: int) -> None:
        self.library.fake_cuda_reset()
        self.library.fake_cuda_fail(ctypes.c_uint32(call), ctypes.c_int(ILLEGAL_ADDRESS))

    def pretend_no_gpu(self) -> None:
        self.library.fake_cuda_machine(12040, 0, 9, 0, ctypes.c_uint64(1 << 30))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """A GPU of the library at FDCONVERT_FAKE_CUDA, of which nothing is left alive."""
    path = os.environ["FDCONVERT_FAKE_CUDA"]
    monkeypatch.setenv("FDCONVERT_CUDA_LIB", path)
    monkeypatch.setenv("FDCONVERT_NVJPEG_LIB", "/nowhere/libnvjpeg.so")
    fake = Fake(path)
    yield fake
    gc.collect()
    alive = fake.counters()
    assert not any(count for name, count in alive.items() if name not in ("calls", "launches"))
    fake.library.fake_cuda_reset()


@pytest.fixture(scope="session")
def indexed(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photos as JPEGs with entry points."""
    out = tmp_path_factory.mktemp("indexed") / "kodak.beton"
    fdconvert.pack(photos, out, jpeg_quality=90, max_side=96, jpeg_index="512")
    return out


@pytest.fixture(scope="session")
def bare(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without entry points."""
    out = tmp_path_factory.mktemp("bare") / "kodak.beton"
    fdconvert.pack(photos, out, jpeg_quality=90, max_side=96, jpeg_index="off")
    return out


def on_gpu(path: Any, batch_size: int = 4, **options: Any) -> Loader:
    usual: dict[str, Any] = {"seed": 7, "threads": 2, "output": "array", "device": "cuda"}
    usual["transform"] = SMALL
    return Loader(path, batch_size, **usual | options)


def test_batches_are_those_of_the_cpu(fake: Fake, indexed: Path) -> None:
    for transform in [
        [*CROPS, T.ToDtype("f16")],
        [*SMALL, T.ToLayout("nchw"), T.ToDtype("f32")],
    ]:
        cpu = Loader(indexed, 5, seed=7, transform=transform, output="numpy")
        gpu = on_gpu(indexed, 5, transform=transform)
        assert len(cpu) == len(gpu) == 3
        for ours, theirs in zip(gpu.batches(), cpu.batches(), strict=True):
            assert ours.state == theirs.state
            for name in ["labels", "samples", "valid", "substituted"]:
                assert np.array_equal(np.asarray(getattr(ours, name)), getattr(theirs, name))
            images = np.asarray(ours.images.cpu())
            assert images.shape == theirs.images.shape == ours.images.shape
            assert images.dtype == theirs.images.dtype
            # Two ways to resize differ by less than two levels of 255.
            assert np.abs(images.astype("f4") - theirs.images.astype("f4")).mean() < 2 / 255
        stats = gpu.stats()
        assert stats["decoded_by_index"] == 12
        assert stats["decoded_by_cpu"] == stats["failed_on_gpu"] == 0
        assert gpu.state_dict() == cpu.state_dict()
    del ours, theirs


def test_images_are_augmented(fake: Fake, indexed: Path) -> None:
    whole = T.Resize((32, 32))
    plain = dict(on_gpu_by_sample(indexed, transform=[whole]))
    for augment in [T.AutoAugment(), T.RandAugment(2, 9), T.TrivialAugmentWide()]:
        options: dict[str, Any] = {"transform": [whole, augment]}
        cpu = Loader(indexed, 4, seed=7, output="numpy", **options)
        by_cpu = {
            sample: image
            for batch in cpu.batches()
            for sample, image in zip(batch.samples, batch.images, strict=True)
        }
        augmented = on_gpu_by_sample(indexed, **options)
        assert any(not np.array_equal(image, plain[sample]) for sample, image in augmented)
        # The same changes of pixels that two ways to resize have made.
        apart = [np.abs(image.astype("f4") - by_cpu[sample]).mean() for sample, image in augmented]
        assert np.median(apart) < 4


def on_gpu_by_sample(path: Any, **options: Any) -> list[tuple[int, Any]]:
    loader = on_gpu(path, **options)
    return [
        (int(sample), image)
        for batch in loader.batches()
        for sample, image in zip(
            np.asarray(batch.samples), np.asarray(batch.images.cpu()), strict=True
        )
    ]


def test_fractals_are_those_of_the_cpu(fake: Fake) -> None:
    recipe = "fractal:svd?classes=3&instances=8&points=2000&sampler=lanes64-v1"
    normal = T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    for transform in [
        [T.Resize((32, 32)), T.RandomHorizontalFlip()],
        [*SMALL, normal, T.ToDtype("f16"), T.ToLayout("nchw")],
        [*SMALL, T.TrivialAugmentWide(), T.ToDtype("f32")],
    ]:
        gpu = on_gpu(recipe, 5, transform=transform)
        cpu = Loader(recipe, 5, seed=7, transform=transform, output="numpy")
        for ours, theirs in zip(gpu.batches(), cpu.batches(), strict=True):
            assert np.array_equal(np.asarray(ours.images.cpu()), theirs.images)
            assert np.array_equal(np.asarray(ours.labels), theirs.labels)
        stats = gpu.stats()
        assert stats["drawn_on_gpu"] + stats["decoded_by_cpu"] == stats["samples"] == 24
        # Of the changes of levels, a GPU has about every third.
        assert stats["drawn_on_gpu"] >= (4 if T.TrivialAugmentWide() in transform else 12)
        assert stats["decoded_by_index"] == stats["failed_on_gpu"] == 0
    del ours, theirs


def test_what_decodes(fake: Fake, indexed: Path, bare: Path) -> None:
    for path, device, by_index in [
        (indexed, fdconvert.Cuda(decoder="index"), 24),
        (indexed, fdconvert.Cuda(decoder="cpu"), 0),
        (bare, fdconvert.Cuda(decoder="auto"), 0),
    ]:
        loader = on_gpu(path, device=device)
        # Who did not ask for the CPU is told, once, that it had to do all.
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                for _ in loader:
                    pass
        assert len(told) == (path == bare)
        stats = loader.stats()
        assert (stats["decoded_by_index"], stats["decoded_by_cpu"]) == (by_index, 24 - by_index)


def test_images_are_kept(fake: Fake, indexed: Path) -> None:
    loader = on_gpu(indexed, device=fdconvert.Cuda(cache_bytes=1 << 20))
    for _ in range(3):
        assert sum(len(labels) for _, labels in loader) == 12
    stats = loader.stats()
    assert stats["samples"] == 36
    assert stats["reads"] == 12
    assert stats["stored_bytes"] > 10_000


def test_dlpack(fake: Fake, indexed: Path) -> None:
    images, _ = next(iter(on_gpu(indexed, transform=[*SMALL, T.ToDtype("f16")])))
    assert images.__dlpack_device__() == (2, 0)
    assert (images.device, images.dtype, images.nbytes) == ("cuda:0", "float16", 4 * 32 * 32 * 6)
    assert repr(images).startswith("fdconvert.DeviceArray(shape=(4, 32, 32, 3)")
    for version, name in [(None, "dltensor"), ((1, 0), "dltensor_versioned")]:
        for stream in [None, -1, 1, 2]:
            capsule = images.__dlpack__(stream=stream, max_version=version)
            assert f'"{name}"' in repr(capsule)
    with pytest.raises(ValueError, match="ambiguous"):
        images.__dlpack__(stream=0)
    with pytest.raises(BufferError, match="on a GPU"):
        images.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match="copy"):
        images.__dlpack__(copy=True)
    # NumPy knows no GPU, and says so.
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(images)
    copy = np.asarray(images.cpu())
    del images, capsule
    assert copy.std() > 0


def test_memory_is_used_again(fake: Fake, indexed: Path) -> None:
    loader = on_gpu(indexed, 2, prefetch=2)
    for _ in loader:
        pass
    before = fake.counters()["device_memory"]
    for _ in range(5):
        for images, _ in loader:
            images.__dlpack__(stream=2)
        assert fake.counters()["device_memory"] <= before
    # Who keeps batches keeps their memory, also after the loader is gone.
    kept = [images for images, _ in loader]
    first = np.asarray(kept[0].cpu()).copy()
    loader.close()
    del loader
    assert np.array_equal(np.asarray(kept[0].cpu()), first)


def test_runs_go_on(fake: Fake, indexed: Path) -> None:
    whole = [np.asarray(images.cpu()) for images, _ in on_gpu(indexed, transform=CROPS)]
    first = on_gpu(indexed, transform=CROPS)
    next(iter(first))
    state = first.state_dict()
    second = on_gpu(indexed, transform=CROPS)
    second.load_state_dict(state)
    rest = [np.asarray(images.cpu()) for images, _ in second]
    assert all(map(np.array_equal, rest, whole[1:])) and len(rest) == 2


def test_failures(fake: Fake, indexed: Path) -> None:
    loader = on_gpu(indexed)
    for _ in loader:
        pass
    fake.library.fake_cuda_reset()
    for images, _ in loader:
        images.cpu()
    n_calls = fake.counters()["calls"]
    del loader, images
    n_failed = 0
    for call in range(1, n_calls, 5):
        loader = on_gpu(indexed)
        fake.fail(call)
        try:
            for images, _ in loader:
                images.cpu()
        except DeviceError as error:
            n_failed += 1
            assert "the GPU" in str(error)
        fake.library.fake_cuda_reset()
        assert sum(len(labels) for _, labels in loader) in (4, 8, 12)
        images = None
    assert n_failed > n_calls / 5 / 2


def test_refusals(fake: Fake, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"device": "tpu"}, "device"),
        ({"device": "cuda:x"}, "device"),
        ({"output": "numpy"}, "NumPy has no arrays on a GPU"),
        ({"device": "cuda:x"}, "device"),
        ({"output": fdconvert.Output("array", out=bytearray(1 << 20))}, "Output.out"),
        ({"output": fdconvert.Output("array", pin_memory=True)}, "Output.pin_memory"),
        ({"views": 2}, "device: several views"),
        ({"geometry": True}, "device: masks, objects and the geometry"),
        ({"transform": [*SMALL, T.Function(len)]}, "transform: rows on a GPU are no NumPy arrays"),
    ]
    for options, said in cases:
        with pytest.raises(UsageError, match=said):
            on_gpu(indexed, **options)
    with pytest.raises(DeviceError, match="no GPU 5"):
        on_gpu(indexed, device="cuda:5")
    fake.pretend_no_gpu()
    with pytest.raises(DeviceError, match="finds no GPU"):
        on_gpu(indexed)
    fake.library.fake_cuda_reset()
    with pytest.raises(DeviceError, match="/nowhere/libnvjpeg.so"):
        on_gpu(indexed, device=fdconvert.Cuda(decoder="nvjpeg"))
    monkeypatch.setenv("FDCONVERT_CUDA_LIB", "/nowhere/libcuda.so")
    with pytest.raises(DeviceError, match="no CUDA driver"):
        on_gpu(indexed)


def test_torch_is_not_needed(
    fake: Fake, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where it is not installed.
    monkeypatch.setitem(sys.modules, "torch", None)
    images, labels = next(iter(on_gpu(indexed, output="auto")))
    assert type(images) is fdconvert.DeviceArray
    assert images.cpu().nbytes == images.nbytes
    assert len(labels) == 4
