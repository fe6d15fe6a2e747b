"""Images that are in no dataset."""

import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Dataset, decode


@pytest.fixture(scope="session")
def stored(beton: Path) -> list[bytes]:
    """The JPEGs of a dataset."""
    dataset = Dataset(beton)
    return [dataset.get(index)["image"]["bytes"] for index in range(len(dataset))]


def pixels(image: Any) -> Any:
    return np.asarray(image)


def test_the_pixels_are_those_of_a_dataset(beton: Path, stored: list[bytes]) -> None:
    expected = [pixels(sample["image"]) for sample in Dataset(beton)]
    for threads in [None, 1, 3, 50]:
        decoded = decode(stored, threads=threads)
        assert len(decoded) == len(expected) == 12
        for array_of_it, due in zip(decoded, expected, strict=True):
            assert np.array_equal(pixels(array_of_it), due)
    for image, due in zip(stored, expected, strict=True):
        assert np.array_equal(pixels(decode(image)), due)


def test_anything_with_bytes_is_taken(stored: list[bytes]) -> None:
    image = stored[0]
    due = pixels(decode(image))
    for same in [
        bytearray(image),
        memoryview(image),
        np.frombuffer(image, np.uint8),
        array.array("B", image),
    ]:
        assert np.array_equal(pixels(decode(same)), due)
    assert np.array_equal(pixels(decode(iter([memoryview(image)]))[0]), due)
    assert decode([]) == decode(()) == []


def test_other_codecs_and_channels(photos: Path) -> None:
    dataset = Dataset(photos)
    file = photos / dataset.key(0)
    assert np.array_equal(pixels(decode(file.read_bytes())), pixels(dataset[0]["image"]))
    fixtures = Path(__file__).parents[2] / "testkit/fixtures"
    gray = pixels(decode((fixtures / "gray.jpg").read_bytes()))
    assert gray.shape[2] == 3
    assert np.array_equal(gray[..., 0], gray[..., 2])


def test_what_is_no_image_is_named_by_its_position(stored: list[bytes]) -> None:
    for damaged in [b"", b"no image", stored[1][:300], stored[1][: len(stored[1]) // 2]]:
        with pytest.raises(fdconvert.DataError, match=r"images\[2\]"):
            decode([stored[0], stored[1], damaged, stored[3]])
        with pytest.raises(fdconvert.DataError, match="image"):
            decode(damaged)
    with pytest.raises(fdconvert.DataError, match="max_pixels"):
        decode(stored, max_pixels=100)
    with pytest.raises(fdconvert.DataError, match="max_file_bytes"):
        decode(stored, max_file_bytes=100)


def test_what_is_no_bytes_is_refused() -> None:
    wrong: list[Any] = [5, "photo.jpg", None, [5], ["photo.jpg"], [None]]
    for images in wrong:
        with pytest.raises(TypeError):
            decode(images)
    for threads in [0, -1, 5000]:
        with pytest.raises((fdconvert.UsageError, OverflowError)):
            decode([], threads=threads)
