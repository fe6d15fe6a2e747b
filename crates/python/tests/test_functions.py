"""Functions of Python at the end of a list of transforms, and rows of bfloat16."""

import os
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Loader
from fdconvert import transforms as T
from loading import SMALL, small

FLOATS = [*SMALL, T.ToDtype("f32"), T.ToLayout("nchw")]


def inverted(row: Any) -> None:
    """In place."""
    np.subtract(255, row, out=row)


def halved(row: Any) -> Any:
    return row // 2


def plus_one(images: Any) -> Any:
    return images + 1


def images_of(loader: Loader) -> list[Any]:
    return [images for images, _ in loader]


@pytest.mark.parametrize("view_layout", ["views", "rows"])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("threads", [0, 3])
def test_rows_are_changed_in_place_or_returned(
    beton: Path, views: int, view_layout: Any, threads: int
) -> None:
    shapes, names = set(), set()

    def looked_at(row: Any) -> None:
        shapes.add((row.shape, str(row.dtype)))
        names.add(threading.current_thread().name)

    functions = [T.Function(it, threads=threads) for it in (inverted, halved, looked_at)]
    options: dict[str, Any] = {"views": views, "view_layout": view_layout}
    plain = images_of(small(beton, 5, **options))
    changed = images_of(small(beton, 5, transform=[*SMALL, *functions], **options))
    assert len(plain) == len(changed) == 3
    for before, after in zip(plain, changed, strict=True):
        np.testing.assert_array_equal(after, (255 - before) // 2)
    assert shapes == {((32, 32, 3), "uint8")}
    is_here = names == {threading.main_thread().name}
    assert is_here if threads == 0 else all("fdconvert-function" in name for name in names)


def test_functions_see_rows_in_the_form_of_the_list(beton: Path) -> None:
    seen = []

    def centred(row: Any) -> Any:
        seen.append((row.shape, str(row.dtype)))
        return row - np.float32(0.5)

    (plain, _), *_ = small(beton, transform=FLOATS)
    (changed, _), *_ = small(beton, transform=[*FLOATS, T.Function(centred)])
    np.testing.assert_array_equal(changed, plain - np.float32(0.5))
    assert set(seen) == {((3, 32, 32), "float32")}


def test_a_group_of_views_has_functions_of_its_own(beton: Path) -> None:
    views: dict[str, Any] = {"a": (2, SMALL), "b": (1, SMALL)}
    (plain, _), *_ = small(beton, views=views)
    views = {"a": (2, SMALL), "b": (1, [*SMALL, T.Function(inverted)])}
    (changed, _), *_ = small(beton, views=views)
    np.testing.assert_array_equal(changed["a"], plain["a"])
    np.testing.assert_array_equal(changed["b"], 255 - plain["b"])


@pytest.mark.parametrize("output", ["numpy", "torch"])
def test_batches_may_become_anything(beton: Path, output: Any) -> None:
    if output == "torch":
        pytest.importorskip("torch", reason="torch is not installed")
    options: dict[str, Any] = {"output": output, "views": 2}
    (plain, _), *_ = small(beton, **options)
    both = [*SMALL, T.Function(inverted), T.Function(plus_one, batch=True)]
    (changed, _), *_ = small(beton, transform=both, **options)
    assert type(changed) is type(plain)
    assert ((255 - plain) + 1 == changed).all()
    kinds = [*SMALL, T.Function(lambda images: f"{type(images).__module__} {tuple(images.shape)}", batch=True)]
    (text, _), *_ = small(beton, transform=kinds, **options)
    assert text == f"{output} (2, 4, 32, 32, 3)"
    # One that returns nothing has changed the batch in place, or looked at it.
    (same, _), *_ = small(beton, transform=[*SMALL, T.Function(lambda images: None, batch=True)], **options)
    assert (same == plain).all()


def test_what_a_function_raises_is_raised_by_the_loop(beton: Path) -> None:
    def fails(row: Any) -> None:
        raise ZeroDivisionError("at last")

    for threads in (0, 2):
        loader = small(beton, transform=[*SMALL, T.Function(fails, threads=threads)])
        with pytest.raises(ZeroDivisionError, match="at last"):
            next(iter(loader))
    with pytest.raises(ZeroDivisionError):
        next(iter(small(beton, transform=[*SMALL, T.Function(fails, batch=True)])))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda row: row[:8], r"\(8, 32, 3\).*\(32, 32, 3\)"),
        (lambda row: row[:1], r"\(1, 32, 3\).*\(32, 32, 3\)"),
        (lambda row: 7, r"\(\).*\(32, 32, 3\)"),
        # Their fractions would be lost.
        (lambda row: row / 255, "float64.*uint8"),
    ],
)
def test_rows_of_another_form_are_refused(beton: Path, function: Any, words: str) -> None:
    with pytest.raises(fdconvert.UsageError, match=f"transform: Function: .*{words}"):
        next(iter(small(beton, transform=[*SMALL, T.Function(function)])))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: [T.Function(5)], "Function: 5 cannot be called"),  # type: ignore[arg-type]
        (lambda: [T.Function(len, batch=True, threads=2)], "`threads` are for rows"),
        (lambda: [T.Function(len, threads=-1)], "threads"),
        (lambda: [T.Function(len), *SMALL], "Function: it comes last"),
        (lambda: [*SMALL, T.RandomApply([T.Function(len)])], "Function: it comes last"),
        (lambda: [*SMALL, T.Function(len, batch=True), T.Function(len)], "those of rows come before"),
    ],
)
def test_functions_that_cannot_be_are_refused(beton: Path, make: Any, words: str) -> None:
    with pytest.raises(fdconvert.UsageError, match=f"transform: .*{words}"):
        small(beton, transform=make())


def test_a_pickled_loader_has_its_functions(beton: Path) -> None:
    loader = small(beton, transform=[*SMALL, T.Function(inverted, threads=2)])
    next(iter(loader))
    again = pickle.loads(pickle.dumps(loader))
    rest = images_of(small(beton, transform=[*SMALL, T.Function(inverted)]))[1:]
    for images, expected in zip(again, rest, strict=True):
        np.testing.assert_array_equal(images[0], expected)
    assert "inverted" in str(loader.state_dict()["views"])


def test_both_sides_of_a_fork_call_functions(beton: Path) -> None:
    transform = [*SMALL, T.Function(inverted, threads=2)]
    expected = [images.tobytes() for images in images_of(small(beton, 2, transform=transform))]
    batches = iter(small(beton, 2, transform=transform))
    first = [next(batches)[0].tobytes() for _ in range(2)]
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(30)
            status = int(first + [images.tobytes() for images, _ in batches] != expected)
        finally:
            os._exit(status)
    assert first + [images.tobytes() for images, _ in batches] == expected
    assert os.waitpid(pid, 0)[1] == 0


def test_the_time_of_functions_is_told(beton: Path) -> None:
    plain = small(beton)
    list(plain)
    assert plain.stats()["function_s"] == 0
    loader = small(beton, transform=[*SMALL, T.Function(inverted)])
    list(loader)
    assert loader.stats()["function_s"] > 0
    loader.reset_stats()
    assert loader.stats()["function_s"] == 0


def test_functions_that_take_most_of_the_time_are_the_bottleneck(beton: Path) -> None:
    def slow(image: Any) -> Any:
        time.sleep(0.1)
        return image

    loader = small(beton, transform=[*SMALL, T.Function(slow)])
    list(loader)
    assert loader.stats()["verdict"] == "function-bound"
    loader.reset_stats()
    assert loader.stats()["verdict"] is None


def test_bfloat16_is_a_type_of_torch_alone(beton: Path) -> None:
    for dtype in ("bf16", "bfloat16"):
        for output in ("numpy", "array"):
            with pytest.raises(fdconvert.UsageError, match='output: bf16 .* use output="torch"'):
                small(beton, transform=[*SMALL, T.ToDtype(dtype)], output=output)


def test_rows_of_bfloat16_are_those_of_float32_rounded(beton: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    halves = [*SMALL, T.Normalize(T.IMAGENET_MEAN, T.IMAGENET_STD), T.ToLayout("nchw")]
    for views in (1, 2):
        floats = small(beton, transform=halves, output="torch", views=views)
        bf16 = [*halves, T.ToDtype(torch.bfloat16)]
        for (images, _), (expected, _) in zip(
            small(beton, transform=bf16, output="torch", views=views), floats, strict=True
        ):
            assert images.dtype == torch.bfloat16 and images.shape == expected.shape
            assert torch.equal(images, expected.to(torch.bfloat16))
    groups: Any = {"half": (1, bf16), "whole": (1, halves)}
    (images, _), *_ = small(beton, views=groups, output="torch")
    assert torch.equal(images["half"], images["whole"].to(torch.bfloat16))
    doubled = [*bf16, T.Function(lambda images: images * 2, batch=True)]
    (twice, _), *_ = small(beton, transform=doubled, output="torch")
    assert twice.dtype == torch.bfloat16 and torch.equal(twice, images["half"] * 2)
    out = torch.zeros(4, 3, 32, 32, dtype=torch.bfloat16)
    copied, _ = next(iter(small(beton, transform=bf16, output=fdconvert.Output("torch", out=out))))
    assert copied.data_ptr() == out.data_ptr() and torch.equal(copied, images["half"])
    # NumPy has no such rows.
    with pytest.raises(fdconvert.UsageError, match="transform: .*bf16.*batch=True"):
        small(beton, transform=[*bf16, T.Function(inverted)], output="torch")


def test_a_batch_whose_function_failed_is_not_lost(beton: Path) -> None:
    calls = []

    def fail_at_the_fifth(row: Any) -> None:
        calls.append(row)
        if len(calls) == 5:
            raise RuntimeError("the fifth")

    loader = Loader(beton, 2, seed=3, transform=[T.Resize([8, 8]), T.Function(fail_at_the_fifth)])
    expected = [batch.samples.tolist() for batch in Loader(beton, 2, seed=3, output="numpy").batches()]
    seen = []
    with pytest.raises(RuntimeError, match="the fifth"):
        for batch in loader.batches():
            seen.append([int(sample) for sample in batch.samples])
    assert seen == expected[:2]
    resumed = Loader(beton, 2, seed=3, output="numpy", transform=[T.Resize([8, 8])])
    resumed.load_state_dict(loader.state_dict())
    assert [batch.samples.tolist() for batch in resumed.batches()] == expected[2:]


def test_a_checkpoint_names_functions_alike_in_every_process(beton: Path) -> None:
    loader = Loader(beton, 2, transform=[T.Resize([8, 8]), T.Function(lambda row: row)])
    *_, shown = loader.state_dict()["views"]["images"][1]
    assert "0x" not in shown["Function"] and "lambda" in shown["Function"]


@pytest.mark.parametrize("view_layout", ["views", "rows"])
@pytest.mark.parametrize("threads", [0, 3])
def test_seeds_follow_from_sample_epoch_and_view(beton: Path, view_layout: Any, threads: int) -> None:
    def seeds(batch_size: int, epoch: int = 0, **options: Any) -> dict[tuple[int, int], int]:
        by_row: list[int] = []
        by_batch: list[int] = []
        found = {}

        def of_row(row: Any, seed: int) -> None:
            row[...] = seed % 251
            by_row.append(seed)

        functions = [
            T.Function(of_row, threads=threads, seeded=True),
            T.Function(lambda images, seeds: by_batch.extend(seeds), batch=True, seeded=True),
        ]
        options = {"views": 2, "view_layout": view_layout} | options
        loader = small(beton, batch_size, transform=[*SMALL, *functions], **options)
        loader.set_epoch(epoch)
        for batch in loader.batches():
            assert sorted(by_row) == sorted(by_batch)
            flat = batch.images.reshape(-1, 32, 32, 3)
            np.testing.assert_array_equal(flat[:, 0, 0, 0], [seed % 251 for seed in by_batch])
            n_rows = len(batch.samples)
            for number, seed in enumerate(by_batch):
                is_views = view_layout == "views"
                view, row = divmod(number, n_rows) if is_views else divmod(number, 2)[::-1]
                found[int(batch.samples[row]), view] = seed
            by_row.clear()
            by_batch.clear()
        return found

    expected = seeds(4)
    assert len(expected) == len(set(expected.values())) == 24
    assert all(0 <= seed < 1 << 63 for seed in expected.values())
    assert seeds(5) == expected
    assert not set(seeds(4, epoch=1).values()) & set(expected.values())
    assert not set(seeds(4, seed=8).values()) & set(expected.values())


@pytest.mark.parametrize("repeated_by", ["order", "mix"])
def test_repeated_samples_have_seeds_of_their_own(beton: Path, repeated_by: str) -> None:
    """The same ones for any number of ranks and any batch size."""

    def seeds(batch_size: int, ranks: int = 1) -> list[int]:
        seen: list[int] = []
        function = T.Function(lambda images, seeds: seen.extend(seeds), batch=True, seeded=True)
        data: Any = beton
        options: dict[str, Any] = {"sampling": fdconvert.Order([5] * 12)}
        if repeated_by == "mix":
            few = fdconvert.Dataset(beton).select([3, 4])
            data, options = fdconvert.mix([(fdconvert.Dataset(beton), 1), (few, 1)]), {}
        for rank in range(ranks):
            options["ranks"] = fdconvert.Ranks(rank, ranks)
            list(small(data, batch_size, transform=[*SMALL, function], **options))
        return sorted(seen)

    expected = seeds(4)
    assert len(set(expected)) == len(expected) >= 12
    assert seeds(3) == expected
    assert seeds(2, ranks=2) == expected


def test_views_of_other_groups_have_other_seeds(beton: Path) -> None:
    seen: list[int] = []
    function = T.Function(lambda images, seeds: seen.extend(seeds), batch=True, seeded=True)
    views: Any = {"a": (2, [*SMALL, function]), "b": (1, [*SMALL, function])}
    next(iter(small(beton, 4, views=views)))
    assert len(seen) == len(set(seen)) == 12
