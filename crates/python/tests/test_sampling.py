"""Samplings: the same order for all ranks, resumed and pickled; and what is refused."""

import pickle
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import fdconvert
import numpy as np
import pytest
from loading import CROPS, Row, rows, rows_of, small


def growing(epoch: int) -> range:
    return range(8 + 2 * epoch)


WEIGHTS = [0.0, 1.0, 2.0, 3.0] * 3

SAMPLINGS = [
    fdconvert.Shuffle(),
    fdconvert.Sequential(),
    fdconvert.Windowed(2, 4),
    fdconvert.Balanced("label"),
    fdconvert.Balanced("label", per_class=9),
    fdconvert.Weighted(WEIGHTS),
    fdconvert.Weighted(np.array(WEIGHTS, np.float32), n=40),
    fdconvert.Weighted(array("d", WEIGHTS), replacement=False),
    fdconvert.Repeated(2),
    fdconvert.Order([11, 0, 0, 7, 3, 11, 2]),
    fdconvert.Order(growing),
]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_the_order_is_the_same_for_all_ranks_and_through_a_stop(
    beton: Path, sampling: fdconvert.Sampling
) -> None:
    options: dict[str, Any] = {"sampling": sampling, "transform": CROPS}

    def ranks(world_size: int) -> list[fdconvert.Loader]:
        ranks = [fdconvert.Ranks(rank, world_size) for rank in range(world_size)]
        return [small(beton, 6 // world_size, ranks=of_rank, **options) for of_rank in ranks]

    def epoch(loaders: list[fdconvert.Loader]) -> list[list[Row]]:
        steps = zip(*(loader.batches() for loader in loaders), strict=True)
        return [[row for batch in step for row in rows_of(batch)] for step in steps]

    alone = ranks(1)
    epochs = [epoch(alone) for _ in range(2)]
    for world_size in (2, 3):
        loaders = ranks(world_size)
        assert [epoch(loaders) for _ in range(2)] == epochs
    alone[0].set_epoch(1)
    next(alone[0].batches())
    state = alone[0].state_dict()
    loaders = ranks(2)
    for loader in loaders:
        loader.load_state_dict(state)
    assert epoch(loaders) == epochs[1][1:]
    alone[0].set_epoch(1)
    next(alone[0].batches())
    moved = pickle.loads(pickle.dumps(alone[0]))
    assert epoch([moved]) == epochs[1][1:]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_samplings_are_values(sampling: fdconvert.Sampling) -> None:
    again = pickle.loads(pickle.dumps(sampling))
    assert repr(again) == repr(sampling) and type(again) is type(sampling)
    with pytest.raises(AttributeError):
        sampling.seed = 1  # type: ignore[attr-defined]


def test_samplings_show_what_they_are() -> None:
    assert repr(fdconvert.Shuffle()) == "fdconvert.Shuffle()"
    assert repr(fdconvert.Balanced("label")) == "fdconvert.Balanced('label', None)"
    assert repr(fdconvert.Weighted(WEIGHTS)) == "fdconvert.Weighted(<12 values>, None, True)"
    assert fdconvert.Windowed(1, 2) == fdconvert.Windowed(1, 2) != fdconvert.Windowed(2, 2)


def test_samples_come_as_often_as_asked(beton: Path) -> None:
    def samples(sampling: fdconvert.Sampling, **options: Any) -> list[int]:
        return [sample for sample, *_ in rows(small(beton, sampling=sampling, **options))]

    labels = Counter(label for _, label, _ in rows(small(beton, sampling=SAMPLINGS[4])))
    assert labels == {0: 9, 1: 9}
    weighted = Counter(samples(fdconvert.Weighted(WEIGHTS, n=600), batch_size=50))
    assert set(weighted) == {number for number, weight in enumerate(WEIGHTS) if weight}
    assert 250 < sum(weighted[number] for number in (3, 7, 11)) < 350
    once = samples(fdconvert.Weighted(WEIGHTS, n=5, replacement=False))
    assert len(set(once)) == len(once) == 5
    repeated = small(beton, 4, sampling=fdconvert.Repeated(2), transform=CROPS)
    for batch in repeated.batches():
        assert set(Counter(batch.samples.tolist()).values()) == {2}
        assert len({row[2] for row in rows_of(batch)}) == 4


@pytest.mark.parametrize(
    "order",
    [
        [3, 1, 3], (3, 1, 3), array("q", [3, 1, 3]), array("i", [3, 1, 3]), np.array([3, 1, 3]),
        np.array([3, 1, 3], np.uint8), np.array([3, 9, 1, 9, 3])[::2],
        memoryview(array("q", [3, 1, 3])), memoryview(array("q", [3, 9, 1, 9, 3]))[::2],
    ],
)
def test_orders_are_lists_of_any_kind(beton: Path, order: Any) -> None:
    assert [row[0] for row in rows(small(beton, sampling=fdconvert.Order(order)))] == [3, 1, 3]


def test_an_order_by_epoch_is_asked_for_when_it_begins(beton: Path) -> None:
    asked = []
    hardest = [5, 6]

    def order(epoch: int) -> list[int]:
        asked.append(epoch)
        return hardest

    loader = small(beton, sampling=fdconvert.Order(order))
    assert asked == []
    assert (len(loader), loader.n_samples, asked) == (1, 2, [0])
    assert [row[0] for row in rows(loader)] == [5, 6]
    hardest = [7, 8, 9]
    assert [row[0] for row in rows(loader)] == [7, 8, 9]
    assert asked == [0, 1]


@pytest.mark.parametrize(
    ("sampling", "error", "words"),
    [
        (True, TypeError, "True is not one of fdconvert's Shuffle, Sequential"),
        (fdconvert.Balanced, TypeError, "with parentheses"),
        (fdconvert.Windowed(0, 1), ValueError, "chunk must hold"),
        (fdconvert.Windowed(-1, 1), ValueError, "-1 is out of range"),
        (fdconvert.Balanced("colour"), ValueError, "no field `colour` of integers: balance it by `label`"),
        (fdconvert.Balanced("label", 0), ValueError, "0 samples of each class"),
        (fdconvert.Repeated(3), ValueError, "multiple of 3: take another `batch_size`"),
        (fdconvert.Weighted([1.0]), ValueError, "1 weights for 12 samples"),
        (fdconvert.Weighted([1.0] * 11 + [-1.0]), ValueError, "weight -1 of sample 11"),
        (fdconvert.Weighted([0.0] * 12), ValueError, "no weight is positive"),
        (fdconvert.Weighted(WEIGHTS, 10, replacement=False), ValueError, "10 draws are more than the 9 samples"),
        (fdconvert.Weighted("heavy"), TypeError, "'heavy' is not a list of numbers"),
        (fdconvert.Weighted(np.ones((3, 4))), TypeError, "float64 of shape"),
        (fdconvert.Order([0, 12]), ValueError, "position 1 of the order is sample 12"),
        (fdconvert.Order([0, -1]), ValueError, "position 1 of the order is sample -1"),
        (fdconvert.Order([0.5]), TypeError, "not a list of integers"),
        (fdconvert.Order(np.ones(12, bool)), TypeError, "bool of shape"),
        (fdconvert.Order({3, 1}), TypeError, "not a list of integers"),
        (fdconvert.Order(iter([3, 1])), TypeError, "not a list of integers"),
        (fdconvert.Order([]), ValueError, "the order has no samples"),
    ],
)
def test_what_cannot_be_sampled_is_refused(
    beton: Path, sampling: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=f"^sampling: .*{words}"):
        small(beton, sampling=sampling)


def test_what_an_order_by_epoch_raises_is_told(beton: Path) -> None:
    def fails(epoch: int) -> list[int]:
        raise KeyError("losses")

    for order, words in [(fails, "KeyError.*losses"), (lambda epoch: [12], "position 0"),
                         (lambda epoch: "abc", "not a list of integers")]:
        loader = small(beton, sampling=fdconvert.Order(order))
        with pytest.raises(ValueError, match=f"^sampling: .*{words}"):
            rows(loader)


def test_caches_and_weights_of_datasets_need_other_samplings(beton: Path) -> None:
    with pytest.raises(ValueError, match="Cache.bytes: a cache needs the sampling `Shuffle`"):
        small(beton, sampling=fdconvert.Repeated(2), cache=1 << 20)
    with pytest.raises(ValueError, match="sampling: .* the shares of a mix"):
        small(fdconvert.mix({beton: 1, str(beton): 3}), sampling=fdconvert.Balanced("label"))
