"""The loader: its batches, what shapes them, and what becomes of samples that fail."""

import json
import pickle
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Array, Loader
from fdconvert import transforms as T
from loading import CROPS, SMALL, Row, rows, rows_of, small


@pytest.fixture
def broken(photos: Path, tmp_path: Path) -> Path:
    """The photos as files of JPEG, of which the fourth ends early."""
    fdconvert.pack(photos, tmp_path / "x.beton", jpeg_quality=90, max_side=96)
    fdconvert.unpack(tmp_path / "x.beton", tmp_path / "files")
    victim = sorted((tmp_path / "files").rglob("*.jpg"))[3]
    victim.write_bytes(victim.read_bytes()[:400])
    return tmp_path / "files"


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32"])
@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_shapes_and_types(beton: Path, dtype: Any, layout: Any) -> None:
    form = [T.Resize((24, 40)), T.ToDtype(dtype), T.ToLayout(layout)]
    loader = small(beton, 5, transform=form)
    batches = list(loader)
    assert len(batches) == len(loader) == 3
    for (images, labels), n_rows in zip(batches, [5, 5, 2], strict=True):
        assert images.shape == (n_rows, *{"nhwc": (24, 40, 3), "nchw": (3, 24, 40)}[layout])
        assert images.dtype == {"u8": np.uint8, "f16": np.float16, "f32": np.float32}[dtype]
        assert images.ctypes.data % 64 == 0
        assert labels.dtype == np.int64 and set(labels.tolist()) <= {0, 1}


def test_floats_are_bytes_normalised(beton: Path) -> None:
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    (plain, _), *_ = small(beton, sampling=fdconvert.Sequential())
    floats = [*SMALL, T.ToDtype("f32")]
    (scaled, _), *_ = small(beton, sampling=fdconvert.Sequential(), transform=floats)
    normalised = [*SMALL, T.Normalize(mean, std), T.ToLayout("nchw")]
    (normal, _), *_ = small(beton, sampling=fdconvert.Sequential(), transform=normalised)
    np.testing.assert_array_equal(scaled, plain.astype(np.float32) / np.float32(255))
    expected = (scaled - np.array(mean, np.float32)) / np.array(std, np.float32)
    np.testing.assert_allclose(normal.transpose(0, 2, 3, 1), expected, rtol=1e-6)


def test_the_first_batch_comes_again_and_again(beton: Path) -> None:
    loader, other = small(beton, 5), small(beton, 5)
    state = loader.state_dict()
    batches = list(loader.ideal())
    assert [len(images) for images, _ in batches] == [5, 5, 5]
    assert all(images is batches[0][0] for images, _ in batches)
    assert loader.state_dict() == state
    for (images, labels), (expected, due) in zip(loader, other, strict=True):
        np.testing.assert_array_equal(images, expected)
        np.testing.assert_array_equal(labels, due)


def test_batches_tell_where_they_are_from(beton: Path) -> None:
    loader = small(beton, 5, ranks=fdconvert.Ranks(last="pad"))
    batches = list(loader.batches())
    assert [(batch.epoch, batch.step, len(batch)) for batch in batches] == [
        (0, 0, 5),
        (0, 1, 5),
        (0, 2, 5),
    ]
    labels = fdconvert.Dataset(beton).labels()
    assert labels is not None
    for batch in batches:
        assert [labels[sample] for sample in batch.samples] == batch.labels.tolist()
        assert not batch.substituted.any()
    assert sum(int(batch.valid.sum()) for batch in batches) == 12
    assert batches[-1].valid.dtype == np.bool_
    assert batches[1].state != batches[2].state


def test_arrays_without_numpy(beton: Path) -> None:
    (images, labels), *_ = small(beton, output="array", sampling=fdconvert.Sequential())
    assert type(images) is type(labels) is Array
    assert (images.shape, images.dtype, labels.dtype) == ((4, 32, 32, 3), "uint8", "int64")
    (expected, _), *_ = small(beton, sampling=fdconvert.Sequential())
    assert images.tobytes() == expected.tobytes()


def test_threads_that_share_a_loop_end_with_its_epoch(beton: Path) -> None:
    for _ in range(20):
        batches = small(beton, 2).batches()
        taken: list[tuple[int, list[int]]] = []

        def take(batches: Any = batches, taken: Any = taken) -> None:
            taken.extend((batch.epoch, batch.samples.tolist()) for batch in batches)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert {epoch for epoch, _ in taken} == {0}
        assert sorted(sample for _, samples in taken for sample in samples) == list(range(12))


def test_epochs_differ_and_threads_do_not(beton: Path) -> None:
    transform = [*CROPS, T.TrivialAugmentWide()]
    one = small(beton, threads=1, transform=transform)
    many = small(beton, storage=fdconvert.Storage(fetch_threads=3), transform=transform)
    epochs = [rows(one) for _ in range(3)]
    assert epochs == [rows(many) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    assert {tuple(sorted(sample for sample, _, _ in epoch)) for epoch in epochs} == {
        tuple(range(12))
    }
    assert one.epoch == 3
    one.set_epoch(1)
    assert rows(one) == epochs[1]
    straight = small(beton, sampling=fdconvert.Sequential())
    assert [sample for sample, _, _ in rows(straight)] == list(range(12))
    windowed = small(beton, sampling=fdconvert.Windowed(2, 4))
    assert sorted(sample for sample, _, _ in rows(windowed)) == list(range(12))


def test_a_loop_that_breaks_does_not_move_the_epoch(beton: Path) -> None:
    loader = small(beton)
    epochs = [rows(loader) for _ in range(2)]
    loader.set_epoch(0)
    peeks = [next(loader.batches()) for _ in range(2)]
    assert rows_of(peeks[0]) == rows_of(peeks[1]) == epochs[0][:4]
    for _ in loader:
        break
    abandoned = iter(loader)
    next(abandoned)
    with pytest.raises(fdconvert.UsageError, match="under way"):
        loader.load_state_dict(loader.state_dict())
    assert (loader.epoch, rows(loader), loader.epoch) == (0, epochs[0], 1)
    with pytest.raises(fdconvert.UsageError, match="again"):
        next(abandoned)
    assert list(abandoned) == []
    next(iter(loader))
    # The same epoch from its start, and the next one.
    loader.set_epoch(1)
    assert rows(loader) == epochs[1]
    loader.set_epoch(0)
    next(iter(loader))
    loader.set_epoch(1)
    assert rows(loader) == epochs[1]


@pytest.mark.parametrize("last", ["short", "drop", "pad"])
def test_a_loop_that_has_all_batches_is_an_epoch(beton: Path, last: Any) -> None:
    """Lightning and others count batches, and do not ask for one after the last."""
    for rank in range(2):
        ranks = fdconvert.Ranks(rank, 2, last=last)
        loader, counted = (small(beton, 5, ranks=ranks, transform=CROPS) for _ in range(2))
        for _ in range(3):
            batches = counted.batches()
            found = [rows_of(next(batches)) for _ in range(len(counted))]
            assert sum(found, []) == rows(loader)
        resumed = small(beton, 5, ranks=ranks, transform=CROPS)
        resumed.load_state_dict(counted.state_dict())
        assert rows(resumed) == rows(counted) == rows(loader)


def test_a_training_that_repeats_an_epoch_is_told(
    beton: Path, recwarn: pytest.WarningsRecorder
) -> None:
    def some(loader: Loader, n: int) -> None:
        for _, _ in zip(range(n), loader, strict=False):
            pass

    peeked, counted, in_order = small(beton), small(beton), small(beton, sampling=fdconvert.Sequential())
    for epoch in range(4):
        next(iter(peeked))
        counted.set_epoch(epoch)
        some(counted, 2)
        some(in_order, 2)
    assert not recwarn.list
    repeated = small(beton)
    for _ in range(5):
        some(repeated, 2)
    (told,) = recwarn.list
    assert "epoch 0 begins again" in str(told.message) and "set_epoch(1)" in str(told.message)
    assert told.filename == __file__


def test_a_loop_that_breaks_in_a_resumed_epoch_leaves_what_is_resumed(beton: Path) -> None:
    loader, resumed = small(beton), small(beton)
    first, second = rows(loader), rows(loader)
    loader.set_epoch(0)
    next(iter(loader))
    resumed.load_state_dict(loader.state_dict())
    for _ in range(2):
        assert rows_of(next(resumed.batches())) == first[4:8]
    assert rows(pickle.loads(pickle.dumps(resumed))) == first[8:]
    assert rows(resumed) == first[4:]
    next(iter(resumed))
    assert rows(resumed) == second
    resumed.load_state_dict(loader.state_dict())
    next(iter(resumed))
    # An epoch that is asked for begins at its start.
    resumed.set_epoch(0)
    assert rows(resumed) == first


def test_options_shape_the_epoch(beton: Path) -> None:
    assert len(small(beton, 5)) == 3
    assert len(small(beton, 5, ranks=fdconvert.Ranks(last="drop"))) == 2
    assert len(small(fdconvert.concat([beton, str(beton)]), 6)) == 4
    assert len(rows(small(fdconvert.mix({beton: 1, str(beton): 2})))) == 24
    plain = rows(small(beton, sampling=fdconvert.Sequential()))
    changes: list[list[T.Transform]] = [
        [*SMALL, T.RandomHorizontalFlip(1.0)],
        [T.Resize((32, 32))],
        CROPS,
        [T.Resize(32), T.CenterCrop(32)],
        [*SMALL, T.RandAugment(3, 12)],
        [*SMALL, T.AutoAugment()],
        [*SMALL, T.AutoAugment("cifar10")],
        [*SMALL, T.AutoAugment("svhn")],
        [*SMALL, T.RandAugment()],
    ]
    for changed in changes:
        other = rows(small(beton, sampling=fdconvert.Sequential(), transform=changed))
        assert [row[:2] for row in other] == [row[:2] for row in plain]
        assert [row[2] for row in other] != [row[2] for row in plain], changed
    mirrored = [*SMALL, T.RandomHorizontalFlip(1)]
    loader = small(beton, sampling=fdconvert.Sequential(), transform=mirrored)
    flipped = [np.frombuffer(row[2], np.uint8) for row in rows(loader)]
    for (_, _, before), after in zip(plain, flipped, strict=True):
        image = np.frombuffer(before, np.uint8).reshape(32, 32, 3)
        np.testing.assert_array_equal(image[:, ::-1], after.reshape(32, 32, 3))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"batch_size": 0}, ValueError, "batch"),
        ({"batch_size": -1}, ValueError, "batch_size"),
        ({"batch_size": "4"}, TypeError, "batch_size"),
        ({"prefetch": 0}, ValueError, "Prefetch.batches: 0 is out of range; expected 1 or more"),
        ({"cache": 5}, ValueError, "Cache.bytes: 5 bytes keep no image of those .* together"),
        ({"prefetch": -1}, ValueError, "Prefetch.batches: -1 is out of range"),
        ({"storage": fdconvert.Storage(retries=1 << 40)}, ValueError, "Storage.retries: .* is out of"),
        ({"threads": 5000}, ValueError, "threads: must be at most 4096"),
        ({"storage": fdconvert.Storage(fetch_threads=5000)}, ValueError, "Storage.fetch_threads: must"),
        ({"batch_size": (1 << 32) - 1}, ValueError, "batch_size: .* are too large"),
        ({"batch_size": 13, "ranks": fdconvert.Ranks(last="drop")}, ValueError, "batch_size: an epoch has"),
        ({"classes": "even"}, TypeError, "classes: give a list"),
        ({"classes": {"even", "odd"}}, TypeError, "classes: a set has no order"),
        ({"label": None, "transform": [*SMALL, T.MixUp()]}, ValueError, "label: .* need labels"),
        ({"sampling": fdconvert.Windowed(0, 5)}, ValueError, "sampling: its chunk must hold"),
        ({"sampling": 5}, TypeError, "sampling: 5 is not one of fdconvert's Shuffle, Sequential"),
        ({"seed": -1}, ValueError, "seed: -1 is out of range"),
        ({"classes": ["even"]}, ValueError, "classes: .* has the class `odd`"),
        ({"classes": ["even", "odd"], "label": None}, ValueError, "classes"),
        ({"sampling": fdconvert.Shuffle}, TypeError, "with parentheses"),
        ({"transform": T.Resize(9)}, ValueError, "transform: Resize.* is one transform; give a list"),
        ({"transform": 5}, ValueError, "transform: 5 is no list of fdconvert.transforms"),
        ({"transform": ["Resize"]}, ValueError, "transform: builtins.str is not one of"),
        ({"size": 32}, TypeError, "size"),
        ({"output": "jax"}, ValueError, "output"),
        ({"output": fdconvert.Output("numpy", pin_memory=True)}, ValueError, "Output.pin_memory"),
    ],
)
def test_what_cannot_be_is_refused(
    beton: Path, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        small(beton, **options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: [T.RandomResizedCrop(9, (0.5, 0.1))], r"RandomResizedCrop: scale=\(0.5, 0.1\) is not"),
        (lambda: [T.RandomResizedCrop(9, (0, 0))], r"RandomResizedCrop: scale=\(0, 0\) is not a range"),
        (lambda: [T.RandomResizedCrop(9, (0.1, float("nan")))], r"RandomResizedCrop: scale=\[0.1, nan\] is not finite"),
        (lambda: [T.RandomResizedCrop(9, ratio=(1, 0))], r"ratio=\(1, 0\) is not a range"),
        (lambda: [T.RandomResizedCrop(9, ratio=(1, float("inf")))], "ratio=.* is not finite"),
        (lambda: [T.Resize(0), T.CenterCrop(9)], "Resize: size="),
        (lambda: [T.Letterbox(9, 300)], "fill: 300 is not one level, or red, green and blue, each 0 to"),
        (lambda: [T.Letterbox(9, (1, 2))], "fill"),
        (lambda: [T.Resize((20_000, 20_000))], "a side has 1 to"),
        (lambda: [T.Resize(40)], "rows have one size"),
        (lambda: [], "rows have one size"),
        (lambda: [*SMALL, T.RandomRotation(9, expand=True)], "rows have one size"),
        (lambda: [*SMALL, T.RandAugment(4_000_000_000)], "RandAugment: num_ops=4000000000"),
        (lambda: [*SMALL, T.RandAugment(2, 99)], "RandAugment: .*magnitude"),
        (lambda: [*SMALL, T.AutoAugment("mnist")], "unknown variant `mnist`"),  # type: ignore[arg-type]
        (lambda: [*SMALL, T.RandomHorizontalFlip(float("nan"))], "RandomHorizontalFlip: p=nan is not finite"),
        (lambda: [*SMALL, T.RandomHorizontalFlip(2)], "p=2 is not a probability"),
        (lambda: [*SMALL, T.ToDtype("f64")], "f64"),
        (lambda: [*SMALL, T.ToLayout("chw")], "chw"),  # type: ignore[arg-type]
        (lambda: [*SMALL, T.Normalize((0, 0, 0), (1, 1, 1)), T.ToDtype("u8")], "bytes cannot be normalised"),
        (lambda: [*SMALL, T.Normalize((0, 0, 0), (0, 1, 1))], "std above 0"),
        (lambda: [*SMALL, T.Normalize((123.7, 116.3, 103.5), (58, 57, 57))], "255"),
        (lambda: [*SMALL, T.Normalize((0, 0), (1, 1))], "2 means and 2 deviations are not three each"),
        (lambda: [*SMALL, T.Normalize((0,) * 3, (1e-5,) * 3), T.ToDtype("f16")], "numbers beyond 6.5504e4"),
        (lambda: [*SMALL, T.Normalize((-1e30,) * 3, (1e-9,) * 3)], "numbers beyond"),
        (lambda: [*SMALL, T.MixUp(float("inf"))], "MixUp: alpha=inf is not finite"),
        (lambda: [*SMALL, T.MixUp(-1e-9)], "MixUp: alpha"),
        (lambda: [*SMALL, T.CutMix(float("nan"))], "CutMix: alpha=nan is not finite"),
        (lambda: [*SMALL, T.RandomApply([T.MixUp()], float("nan"))], "RandomApply: p=nan is not finite"),
        (lambda: [*SMALL, T.RandomChoice([T.MixUp(), T.CutMix()], [1, -1])], "RandomChoice"),
        (lambda: [T.MixUp(), *SMALL], "comes before .* MixUp and CutMix"),
        (lambda: [*SMALL, T.MixUp(), T.MixUp()], "is there twice"),
        (lambda: [*SMALL, T.MixUp(num_classes=1)], "num_classes: .* names of 2 classes"),
    ],
)
def test_lists_that_cannot_be_are_refused(beton: Path, make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"transform: .*({words})"):
        small(beton, transform=make())


def test_batches_that_no_memory_holds_are_refused(beton: Path) -> None:
    overcommit = Path("/proc/sys/vm/overcommit_memory")
    if overcommit.exists() and overcommit.read_text().strip() == "1":
        pytest.skip("the system promises any memory")
    with pytest.raises(ValueError, match="batch_size: there is no memory for 268435456 rows"):
        small(beton, 1 << 28)


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("missing.beton", FileNotFoundError, "missing"),
        ([], TypeError, r"dataset: a list is .*concat\(\[...\]\)"),
        (["kodak.beton", ("kodak.beton", 2)], TypeError, r"dataset: a list is .*mix\({...}\)"),
        (("kodak.beton", 2), TypeError, "dataset: a tuple is neither"),
        ([("kodak.beton", 1, "train")], TypeError, r"a split by fdconvert.Dataset\(path\).split\(name\)"),
        ({"kodak.beton": 2}, TypeError, r"dataset: a dict is .*mix\({...}\)"),
        (5, TypeError, "dataset: a int is neither a fdconvert.Dataset nor a path$"),
    ],
)
def test_datasets_that_cannot_be_are_refused(
    beton: Path, path: Any, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(beton.parent)
    with pytest.raises(error, match=words):
        small(path)


def test_lists_and_types_of_libraries_are_options(beton: Path) -> None:
    crop = T.RandomResizedCrop((24, 40), scale=(0.2, 1))
    expected = rows(small(beton, transform=[crop, T.ToDtype("f32")]))

    class Torch:
        def __str__(self) -> str:
            return "torch.float32"

    for dtype in [np.float32, np.dtype("f4"), Torch()]:
        crop = T.RandomResizedCrop([24, 40], scale=[0.2, 1])
        assert rows(small(beton, transform=(crop, T.ToDtype(dtype)))) == expected


def test_a_loader_tells_its_facts(photos: Path, beton: Path) -> None:
    dataset = fdconvert.Dataset(beton)
    loader = small(beton)
    assert (loader.classes, loader.dataset.schema) == (dataset.classes, dataset.schema)
    assert (loader.n_samples, loader.rank, loader.world_size) == (12, 0, 1)
    assert small(dataset).dataset is dataset
    assert small(beton, label=None).classes is None
    assert repr(small(beton, ranks=fdconvert.Ranks(1, 2))).endswith("ranks=fdconvert.Ranks(1, 2))")


def test_classes_of_several_datasets_are_numbered_by_name(photos: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    shutil.copytree(photos, one)
    shutil.copytree(photos, two)
    (two / "even").rename(two / "cat")
    both = fdconvert.concat([one, two])
    loader = small(both, 24, sampling=fdconvert.Sequential())
    assert loader.classes == ["cat", "even", "odd"]
    (_, labels), = loader
    assert labels.tolist() == [1] * 6 + [2] * 6 + [0] * 6 + [2] * 6
    unmixed = [*SMALL, T.RandomApply([T.MixUp()], p=0)]
    (_, labels), = small(both, 24, sampling=fdconvert.Sequential(), transform=unmixed)
    assert labels.argmax(1).tolist() == [1] * 6 + [2] * 6 + [0] * 6 + [2] * 6
    order = ["odd", "cat", "even", "more"]
    (_, labels), = small(both, 24, sampling=fdconvert.Sequential(), classes=order)
    assert labels.tolist() == [2] * 6 + [0] * 6 + [1] * 6 + [0] * 6
    # A class that a validation set lacks moves no other.
    (_, labels), = small(two, 24, sampling=fdconvert.Sequential(), classes=order)
    assert labels.tolist() == [1] * 6 + [0] * 6


def test_samples_that_come_again_are_drawn_again(beton: Path) -> None:
    once = rows(small(beton, transform=CROPS))
    thrice = rows(small(beton, transform=CROPS, sampling=fdconvert.Order([*range(12)] * 3)))
    assert len(set(thrice)) == len(thrice) == 36
    assert set(once) < set(thrice)




def test_broken_samples(broken: Path, tmp_path: Path) -> None:
    key = fdconvert.Dataset(broken).key(3)
    loader = small(broken, sampling=fdconvert.Sequential(), threads=2, batch_size=2)
    batches = loader.batches()
    assert next(batches).step == 0
    before = loader.state_dict()
    with pytest.raises(fdconvert.DataError, match=key):
        next(batches)
    assert list(batches) == []
    assert loader.state_dict() == before
    # The next loop is the same epoch.
    with pytest.raises(fdconvert.DataError):
        list(loader)
    assert loader.epoch == 0

    def third(errors: Any) -> tuple[Loader, fdconvert.Batch]:
        loader = small(broken, sampling=fdconvert.Sequential(), errors=errors, batch_size=12)
        return loader, next(loader.batches())

    loader, batch = third(fdconvert.Skip())
    assert batch.valid.tolist() == [row != 3 for row in range(12)]
    assert not batch.images[3].any()
    assert loader.stats()["failures"] == 1
    _, batch = third(fdconvert.Substitute())
    assert batch.valid.all()
    assert batch.substituted.tolist() == [row == 3 for row in range(12)]
    assert batch.samples[3] != 3
    for _ in range(2):
        loader, batch = third(fdconvert.Quarantine(tmp_path / "bad.jsonl"))
        assert batch.substituted[3]
    assert json.loads((tmp_path / "bad.jsonl").read_text())["key"] == key
    with pytest.raises(fdconvert.DataError):
        list(small(broken, errors=fdconvert.Skip(max_failures=0)))


def test_statistics(beton: Path) -> None:
    loader = small(beton)
    rows(loader)
    stats = loader.stats()
    assert (stats["samples"], stats["batches"], stats["failures"]) == (12, 3, 0)
    assert stats["threads"] == 2 and stats["fetched_bytes"] > 0 and stats["decode_s"] > 0
    assert stats["verdict"] in ("consumer-bound", "disk-bound", "decode-bound")
    assert stats["draw_s"] == 0
    assert stats["first_batch_s"] <= stats["elapsed_s"]
    loader.reset_stats()
    assert loader.stats()["samples"] == 0 and loader.stats()["first_batch_s"] is None
    with loader as same:
        assert same is loader
    for use in (loader.stats, loader.state_dict, loader.batches().__next__, lambda: len(loader)):
        with pytest.raises(fdconvert.UsageError, match="closed"):
            use()
    opened = f"fdconvert.Dataset({str(beton)!r}, samples=12)"
    assert repr(loader) == f"fdconvert.Loader({opened}, batch_size=4)"


FRACTALS = "fractal:svd?classes=2&instances=3&points=2000"


def test_a_recipe_is_drawn_as_large_as_it_is_shown() -> None:
    def drawn(size: str, *transform: T.Transform) -> list[Row]:
        return rows(small(FRACTALS + size, transform=transform))

    whole, framed = T.Resize((32, 32)), T.Letterbox((32, 40))
    assert drawn("", whole) == drawn("&size=32", whole) != drawn("&size=256", whole)
    assert drawn("", *SMALL) == drawn("&size=36", *SMALL)
    assert drawn("", framed) == drawn("&size=32", framed)
    # What draws how much of them is shown takes them as they are.
    assert drawn("", *CROPS) == drawn("&size=256", *CROPS)
    with pytest.raises(fdconvert.UsageError, match=" 8 pixels"):
        drawn("", T.Resize((8, 8)))


def test_recipes_stand_beside_each_other() -> None:
    loader = small(fdconvert.concat([FRACTALS, FRACTALS + "&seed=2"]))
    assert sorted(sample for sample, _, _ in rows(loader)) == [*range(12)]
    stats = loader.stats()
    assert stats["draw_s"] > 0 and stats["reads"] == 0
    alone = small(FRACTALS)
    assert rows(pickle.loads(pickle.dumps(alone))) == rows(alone)
    assert alone.stats()["verdict"] in ("consumer-bound", "render-bound")
    with pytest.raises(fdconvert.UsageError, match="no key `clases` .* classes, instances"):
        Loader("fractal:svd?clases=2")


def test_a_mixed_set_is_read_past_the_page_cache_and_kept_in_part(
    photos: Path, tmp_path: Path
) -> None:
    mixed = tmp_path / "mixed"
    fdconvert.pack(photos, mixed, format="mixed", ratio=0.5, max_side=64)
    plain = rows(small(mixed))
    direct = small(mixed, storage=fdconvert.Storage("direct", fetch_threads=2))
    assert rows(direct) == plain
    kept = small(mixed, storage=fdconvert.Storage("direct"), cache=60_000)
    first, second = rows(kept), rows(kept)
    assert sorted(row[0] for row in first) == sorted(row[0] for row in second) == list(range(12))
    stats = kept.stats()
    assert stats["hits"] > 0 and stats["hits"] + stats["reads"] == 24
    with pytest.raises(fdconvert.UsageError, match="Cache.bytes"):
        rows(small(mixed, cache=60_000, sampling=fdconvert.Sequential()))
    with pytest.raises(fdconvert.UsageError, match="Storage.access"):
        fdconvert.Storage("none")  # type: ignore[arg-type]
