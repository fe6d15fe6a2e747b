"""How sequences are asked for samples: several at once, by ``__getitems__``, and as tensors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import samples
from samples import CLASSES, TorchLike

import fdconvert

SCHEMA = {"image": "image", "label": CLASSES}


class Several(TorchLike):
    """As torch's ``Subset`` and the datasets of Hugging Face; knows what it was asked for."""

    def __init__(self, images: Any, labels: Any) -> None:
        super().__init__(images, labels)
        self.single: list[int] = []
        self.calls: list[Sequence[int]] = []

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self.single.append(index)
        return super().__getitem__(index)

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, int]]:
        self.calls.append(indices)
        return [super(Several, self).__getitem__(index) for index in indices]


def packed(dataset: TorchLike, out: Path, **options: Any) -> Path:
    fdconvert.pack(dataset, out, schema=SCHEMA, jpeg_quality=90, **options)
    return out


def is_same(one: Path, other: Path) -> bool:
    # All of it: files also say what class they were made of.
    found = fdconvert.diff(one, other)
    return bool(found["same"] == len(fdconvert.Dataset(one)) and not found["changed"])


@pytest.mark.parametrize("shuffle", [False, True])
def test_several_samples_are_asked_for_at_once_and_each_one_once(
    shuffle: bool, tmp_path: Path
) -> None:
    images = samples.cifar_like(500)
    options: dict[str, Any] = {"shuffle": shuffle}
    expected = packed(TorchLike(*images), tmp_path / "one.beton", **options)
    for threads in (1, 4):
        dataset = Several(*images)
        out = tmp_path / f"{threads}.beton"
        assert is_same(expected, packed(dataset, out, threads=threads, **options))
        asked = [index for call in dataset.calls for index in call]
        # The first one says whether it is a path, and both ends what run it is.
        assert dataset.single[:3] == [0, 0, 499] and len(dataset.single) < 10
        assert sorted(asked + dataset.single[3:]) == list(range(500))
        assert max(map(len, dataset.calls)) <= 64 and len(dataset.calls) < 250
        ranges = [call for call in dataset.calls if isinstance(call, range)]
        assert all(call.step == 1 for call in ranges)
        # Of positions in a row; of others a list, as torch's loaders give it.
        assert len(ranges) < 5 if shuffle else len(ranges) > len(dataset.calls) // 2
        assert all(isinstance(call, range | list) for call in dataset.calls)


@pytest.mark.parametrize("answer", ["exception", "another type", "fewer"])
def test_methods_that_take_only_lists_get_lists(answer: str, tmp_path: Path) -> None:
    class OfLists(Several):
        def __getitems__(self, indices: Sequence[int]) -> Any:
            if isinstance(indices, list):
                return super().__getitems__(indices)
            self.calls.append(indices)
            if answer == "exception":
                raise TypeError("a list, please")
            return "samples" if answer == "another type" else []

    images = samples.cifar_like(500)
    dataset = OfLists(*images)
    expected = packed(TorchLike(*images), tmp_path / "one.beton")
    assert is_same(expected, packed(dataset, tmp_path / "lists.beton"))
    # One that it did not take, whose samples were those of the list behind it.
    are_ranges = [isinstance(call, range) for call in dataset.calls]
    assert are_ranges.count(True) == 1
    at = are_ranges.index(True)
    assert [*dataset.calls[at]] == dataset.calls[at + 1]
    assert len(dataset.single) < 10


def test_large_samples_are_not_fetched_in_great_numbers(tmp_path: Path) -> None:
    images, labels = samples.cifar_like(12)
    large = images.repeat(32, axis=1).repeat(32, axis=2)
    dataset = Several(large, labels)
    expected = packed(TorchLike(large, labels), tmp_path / "one.beton")
    assert is_same(expected, packed(dataset, tmp_path / "several.beton"))
    # Of 3 MiB each.
    assert dataset.calls == [] and len(dataset.single) == 3 + 12


def test_an_exception_is_that_of_its_sample(tmp_path: Path) -> None:
    class Broken(Several):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            if index == 77:
                raise ZeroDivisionError("seventy-seven")
            return super().__getitem__(index)

        def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, int]]:
            if 77 in indices:
                raise RuntimeError("one of them")
            return super().__getitems__(indices)

    broken = Broken(*samples.cifar_like(300))
    with pytest.raises(ZeroDivisionError, match="seventy-seven") as raised:
        packed(broken, tmp_path / "x.beton")
    assert raised.value.__notes__ == ["fdconvert: sample `00000077.jpg`"]
    broken.single.clear()
    report = fdconvert.pack(broken, tmp_path / "x.beton", schema=SCHEMA, on_error="skip")
    assert [skipped["index"] for skipped in report["skipped"]] == [77]
    # Those of the call that failed, and hardly any other, were fetched one by one.
    assert 0 < len(broken.single) <= 72


def test_what_interrupts_the_program_ends_the_run(tmp_path: Path) -> None:
    class Interrupted(Several):
        def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, int]]:
            raise KeyboardInterrupt

    class Lazy(Sequence[Any]):
        def __init__(self, indices: Sequence[int]) -> None:
            self.indices = indices

        def __len__(self) -> int:
            return len(self.indices)

        def __getitem__(self, at: Any) -> Any:
            raise KeyboardInterrupt

    class InterruptedLater(Several):
        def __getitems__(self, indices: Sequence[int]) -> Any:
            return Lazy(indices)

    for kind in (Interrupted, InterruptedLater):
        with pytest.raises(KeyboardInterrupt):
            packed(kind(*samples.cifar_like()), tmp_path / "x.beton")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("answer", [None, [], "text", [0]])
def test_other_methods_of_that_name_are_not_used(answer: Any, tmp_path: Path) -> None:
    class Other(Several):
        def __getitems__(self, indices: Sequence[int]) -> Any:
            self.calls.append(indices)
            return answer

    images = samples.cifar_like(300)
    dataset = Other(*images)
    expected = packed(TorchLike(*images), tmp_path / "one.beton")
    assert is_same(expected, packed(dataset, tmp_path / "several.beton"))
    # As a range, and as a list.
    assert len(dataset.calls) == 2


def test_a_subclass_with_its_own_samples_is_asked_for_those(tmp_path: Path) -> None:
    class Inverted(Several):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            image, label = super().__getitem__(index)
            return 255 - image, label

    images, labels = samples.cifar_like(300)
    dataset = Inverted(images, labels)
    expected = packed(TorchLike(255 - images, labels), tmp_path / "one.beton")
    assert is_same(expected, packed(dataset, tmp_path / "several.beton"))
    assert dataset.calls == []


def test_an_array_that_is_interrupted_or_fails_says_so(tmp_path: Path) -> None:
    class Tensor:
        """Converts itself, as tensors of torch do."""

        def __init__(self, pixels: Any, error: type[BaseException] | None) -> None:
            self.pixels, self.error = pixels, error

        def __array__(self) -> Any:
            if self.error is not None:
                raise self.error("it is on a GPU")
            return self.pixels

    def tensors(error: type[BaseException] | None) -> TorchLike:
        images, labels = samples.cifar_like()
        failing = [error if at == 7 else None for at in range(len(images))]
        return TorchLike(list(map(Tensor, images, failing)), labels)

    expected = packed(TorchLike(*samples.cifar_like()), tmp_path / "one.beton")
    assert is_same(expected, packed(tensors(None), tmp_path / "tensors.beton"))
    for error in (KeyboardInterrupt, TypeError):
        with pytest.raises(error, match="it is on a GPU"):
            packed(tensors(error), tmp_path / "x.beton")
    assert not (tmp_path / "x.beton").exists()
