"""The memory of batches: who has it, when it goes back, and who waits for it."""

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import transforms as T
from loading import SMALL, small

TWO = 2 * 32 * 32 * 3
"""Memory for two batches of one row."""

HALVES = [*SMALL, T.ToDtype("f16")]


def test_memory_goes_back_when_nobody_looks(beton: Path) -> None:
    loader = small(beton, 1, prefetch=fdconvert.Prefetch(1, TWO))
    batches = iter(loader)
    kept = [next(batches)[0], next(batches)[0]]
    expected = [image.copy() for image in kept]
    assert loader.stats()["batches_kept"] == 2
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: next(batches)[0].shape)
        time.sleep(0.5)
        assert not waiting.done()
        for image, copy in zip(kept, expected, strict=True):
            np.testing.assert_array_equal(image, copy)
        view = memoryview(kept.pop())
        del image
        gc.collect()
        time.sleep(0.3)
        assert not waiting.done()
        del view
        gc.collect()
        assert waiting.result(timeout=30) == (1, 32, 32, 3)
    # A kept batch outlives its loader.
    loader.close()
    del loader, batches
    gc.collect()
    np.testing.assert_array_equal(kept[0], expected[0])


def test_a_loop_reuses_memory(beton: Path) -> None:
    loader = small(beton, 1, prefetch=2)
    for _ in range(3):
        assert len({images.ctypes.data for images, _ in loader}) <= 3


def test_batches_are_copied_to_out(beton: Path) -> None:
    expected = [(images.copy(), labels) for images, labels in small(beton, 5, transform=HALVES)]
    arrays = [np.zeros((5, 32, 32, 3), np.float16) for _ in range(2)]
    outs: list[list[Any]] = [arrays, [bytearray(5 * 32 * 32 * 6) for _ in range(2)]]
    for out in outs:
        for n, (images, labels) in enumerate(small(beton, 5, transform=HALVES, output=fdconvert.Output("numpy", out=out))):
            np.testing.assert_array_equal(images, expected[n][0])
            np.testing.assert_array_equal(labels, expected[n][1])
            assert np.shares_memory(images, np.frombuffer(out[n % 2], np.uint8))
    one = np.zeros(5 * 32 * 32 * 6, np.uint8)
    loader = small(beton, 5, transform=HALVES, output=fdconvert.Output("numpy", out=one))
    kept = [images for images, _ in loader]
    assert loader.stats()["batches_kept"] == 0
    assert kept[0].ctypes.data == kept[1].ctypes.data == one.ctypes.data
    whole = [images.shape[0] for images, _ in loader]
    assert sum(whole) == 12
    for wrong in [b"x" * one.nbytes, one[:-1], np.zeros((2, one.nbytes), np.uint8)[:, ::2]]:
        loader = small(beton, 5, transform=HALVES, output=fdconvert.Output("numpy", out=wrong))
        before = loader.state_dict()
        with pytest.raises(fdconvert.UsageError, match="out"):
            next(iter(loader))
        # No batch was lost.
        assert loader.state_dict() == before
    with pytest.raises(TypeError):
        next(iter(small(beton, output=fdconvert.Output("numpy", out=3))))


def test_the_interpreter_runs_while_it_waits(beton: Path) -> None:
    loader = small(beton, 1, prefetch=fdconvert.Prefetch(1, TWO))
    batches = iter(loader)
    kept = [next(batches), next(batches)]
    waiting = threading.Thread(target=lambda: next(batches))
    waiting.start()
    began = time.monotonic()
    for _ in range(5):
        assert loader.stats()["batches"] == 2
    assert time.monotonic() - began < 5
    kept.clear()
    waiting.join(30)
    assert not waiting.is_alive()


@pytest.mark.parametrize(
    ("n_ahead", "options"),
    [
        (3, {}),
        (1, {}),
        (3, {"output": "array"}),
        (3, {"storage": fdconvert.Storage(fetch_threads=2)}),
    ],
)
def test_batches_may_be_kept(beton: Path, n_ahead: int, options: dict[str, Any]) -> None:
    """A list of all batches is what copies of them are, and memory grows up to the limit."""
    expected = [np.array(images) for images, _ in small(beton, 1, **options)]
    loader = small(beton, 1, prefetch=fdconvert.Prefetch(n_ahead, 12 * 32 * 32 * 3), **options)
    counts = [len(list(loader))]
    counts.append(len([batch.images for batch in loader.batches()]))
    assert counts == [12, 12]
    loader.set_epoch(0)
    kept = [images for images, _ in loader]
    for images, copy in zip(kept, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(images), copy)
    assert len({np.asarray(images).ctypes.data for images in kept}) == 12


def test_a_keeper_is_told(beton: Path, recwarn: pytest.WarningsRecorder) -> None:
    """After ten seconds without memory: the main thread keeps batches itself, others may wait."""
    loader = small(beton, 1, prefetch=fdconvert.Prefetch(1, TWO))
    batches = iter(loader)
    kept = [next(batches), next(batches)]
    waiting = threading.Thread(target=lambda: next(batches))
    waiting.start()
    own = small(beton, 1, prefetch=fdconvert.Prefetch(bytes=5 * 32 * 32 * 3))
    seen = []
    with pytest.raises(fdconvert.UsageError, match=r"Prefetch.bytes: 5 batches .*15.00 KiB.*copies"):
        for images, _ in own:
            seen.append(images)
    assert len(seen) == 5
    while not recwarn.list and waiting.is_alive():
        time.sleep(0.1)
    kept.clear()
    waiting.join(30)
    assert not waiting.is_alive()
    assert ["Prefetch.bytes" in str(it.message) for it in recwarn] == [True]
    # Memory that comes back ends it.
    seen.clear()
    own.set_epoch(0)
    assert sum(1 for _ in own) == 12
