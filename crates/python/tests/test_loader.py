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
from loading import Row, rows, small


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
    loader = small(beton, 5, dtype=dtype, layout=layout, size=(24, 40))
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
    (scaled, _), *_ = small(beton, sampling=fdconvert.Sequential(), dtype="f32")
    floats: dict[str, Any] = {"dtype": "f32", "mean": mean, "std": std, "layout": "nchw"}
    (normal, _), *_ = small(beton, sampling=fdconvert.Sequential(), **floats)
    np.testing.assert_array_equal(scaled, plain.astype(np.float32) / np.float32(255))
    expected = (scaled - np.array(mean, np.float32)) / np.array(std, np.float32)
    np.testing.assert_allclose(normal.transpose(0, 2, 3, 1), expected, rtol=1e-6)


def test_batches_tell_where_they_are_from(beton: Path) -> None:
    loader = small(beton, 5, last="pad")
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
    options: dict[str, Any] = {"crop": "rrc", "augment": "trivialaugment"}
    one, many = small(beton, threads=1, **options), small(beton, fetch_threads=3, **options)
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


def test_a_loop_that_breaks_is_an_epoch(beton: Path) -> None:
    loader = small(beton)
    epochs = [rows(loader) for _ in range(2)]
    loader.set_epoch(0)
    abandoned = iter(loader)
    next(abandoned)
    with pytest.raises(fdconvert.UsageError, match="under way"):
        loader.load_state_dict(loader.state_dict())
    assert rows(loader) == epochs[1]
    with pytest.raises(fdconvert.UsageError, match="again"):
        next(abandoned)
    assert list(abandoned) == []
    loader.set_epoch(1)
    next(iter(loader))
    # The same epoch from its start.
    loader.set_epoch(1)
    assert rows(loader) == epochs[1]


def test_options_shape_the_epoch(beton: Path) -> None:
    assert len(small(beton, 5)) == 3
    assert len(small(beton, 5, last="drop")) == len(small(beton, 5, drop_last=True)) == 2
    assert len(small([beton, (beton, 0.5)], 6)) == 3
    assert len(rows(small([beton, (str(beton), 2)]))) == 36
    plain = rows(small(beton, sampling=fdconvert.Sequential()))
    changes: list[dict[str, Any]] = [
        {"flip": 1.0},
        {"crop": None},
        {"crop": "rrc"},
        {"resize": 32},
        {"augment": ("randaugment", 3, 12)},
        {"augment": "autoaugment"},
        {"augment": "autoaugment-cifar10"},
        {"augment": "autoaugment-svhn"},
        {"augment": "randaugment"},
    ]
    for changed in changes:
        other = rows(small(beton, sampling=fdconvert.Sequential(), **changed))
        assert [row[:2] for row in other] == [row[:2] for row in plain]
        assert [row[2] for row in other] != [row[2] for row in plain], changed
    loader = small(beton, sampling=fdconvert.Sequential(), flip=1)
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
        ({"crop": "middle"}, ValueError, "crop"),
        ({"crop": "rrc", "resize": 40}, ValueError, "resize"),
        ({"crop": "rrc", "scale": (0.5, 0.1)}, ValueError, "scale: .0.5, 0.1. must be"),
        ({"crop": "rrc", "scale": (0, 0)}, ValueError, "scale: .0.0, 0.0. must be"),
        ({"crop": "rrc", "scale": (0.1, float("nan"))}, ValueError, "scale"),
        ({"crop": "rrc", "scale": 0.5}, TypeError, "scale"),
        ({"crop": "rrc", "ratio": (1, 0)}, ValueError, "ratio: .1.0, 0.0. must be"),
        ({"crop": "center", "resize": 0}, ValueError, "resize"),
        ({"crop": "letterbox", "fill": 300}, ValueError, "fill: 300 is not a level from 0 to 255"),
        ({"crop": "letterbox", "fill": (1, 2)}, ValueError, "fill"),
        # What would have no effect.
        ({"scale": (0.1, 0.2)}, ValueError, 'scale: it is for crop="rrc"'),
        ({"crop": None, "ratio": (1, 1)}, ValueError, 'ratio: it is for crop="rrc"'),
        ({"crop": "letterbox", "scale": (0.1, 0.2)}, ValueError, "scale"),
        ({"fill": 30}, ValueError, 'fill: it is for crop="letterbox"'),
        ({"crop": "letterbox", "mask_fill": 3}, ValueError, "mask_fill: it is for `masks`"),
        ({"min_box": 2.0}, ValueError, "min_box: it is for `objects`"),
        ({"keypoint_flip": [1, 0]}, ValueError, "keypoint_flip: it is for `objects`"),
        ({"segmentations": False}, ValueError, "segmentations: it is for `objects`"),
        ({"mix_prob": 0.5}, ValueError, "mix_prob: it is for `mixup` and `cutmix`"),
        ({"mixup": 0.2, "switch_prob": 0.3}, ValueError, "switch_prob: it is for .* together"),
        ({"num_classes": 0}, ValueError, "num_classes: it is for `mixup` and `cutmix`"),
        ({"max_failures": 0}, ValueError, "max_failures: it is for another `on_error`"),
        ({"prefetch": 0}, ValueError, "prefetch: one batch is made ahead at least"),
        ({"cache_bytes": 5}, ValueError, "cache_bytes: 5 bytes keep no image of those .* together"),
        ({"mixup": 0.2, "num_classes": 1}, ValueError, "num_classes: .* names of 2 classes"),
        ({"augment": ("randaugment", 0, 9)}, ValueError, "augment: 0 changes"),
        ({"augment": ("randaugment", 4_000_000_000, 9)}, ValueError, "augment: 4000000000 changes"),
        ({"cache_policy": "liquid"}, ValueError, "cache_policy: it is for `cache_bytes`"),
        ({"decoder": "cpu"}, ValueError, "decoder: it is for `device`"),
        ({"device_cache_bytes": 5}, ValueError, "device_cache_bytes: it is for `device`"),
        ({"draw_size": "own"}, ValueError, "draw_size: it is for fractals"),
        ({"dtype": "f64"}, ValueError, "dtype"),
        ({"layout": "chw"}, ValueError, "layout"),
        ({"mean": (0, 0, 0)}, ValueError, "std"),
        ({"mean": (0, 0, 0), "std": (1, 1, 1)}, ValueError, "mean: bytes cannot be normalised"),
        ({"mean": (0, 0, 0), "std": (0, 1, 1), "dtype": "f32"}, ValueError, "std above 0"),
        ({"mean": (123.7, 116.3, 103.5), "std": (58, 57, 57), "dtype": "f32"}, ValueError, "255"),
        ({"mean": (0, 0), "std": (1, 1), "dtype": "f32"}, TypeError, "mean"),
        ({"mean": (0,) * 3, "std": (1e-5,) * 3, "dtype": "f16"}, ValueError, "numbers beyond 6.5504e4"),
        ({"mean": (-1e30,) * 3, "std": (1e-9,) * 3, "dtype": "f32"}, ValueError, "numbers beyond"),
        ({"dtype": "bf16"}, ValueError, "dtype: bfloat16 is not made here"),
        ({"mixup": float("inf")}, ValueError, "mixup"),
        ({"cutmix": float("nan")}, ValueError, "cutmix: NaN is not a parameter"),
        ({"mixup": -1e-9}, ValueError, "mixup"),
        ({"mixup": 1, "mix_prob": float("nan")}, ValueError, "mix_prob: NaN is not a probability"),
        ({"mixup": 1, "cutmix": 1, "switch_prob": 1.5}, ValueError, "switch_prob"),
        ({"crop": "rrc", "ratio": (1, float("inf"))}, ValueError, "ratio"),
        ({"prefetch": -1}, ValueError, "prefetch: -1 is out of range"),
        ({"prefetch_bytes": -1}, ValueError, "prefetch_bytes: -1 is out of range"),
        ({"retries": -1}, ValueError, "retries: -1 is out of range"),
        ({"retries": 1 << 40}, ValueError, "retries: .* is out of range"),
        ({"threads": 5000}, ValueError, "threads: must be at most 4096"),
        ({"fetch_threads": 5000}, ValueError, "fetch_threads: must be at most 4096"),
        ({"batch_size": (1 << 32) - 1}, ValueError, "batch_size: .* are too large"),
        ({"size": 20_000}, ValueError, "size: 20000x20000 is not within"),
        ({"flip": float("nan")}, ValueError, "flip"),
        ({"batch_size": 13, "last": "drop"}, ValueError, "batch_size: an epoch has no batch"),
        ({"label": None, "mixup": 0.2}, ValueError, "mixup and cutmix need labels"),
        ({"classes": "even"}, TypeError, "classes: give a list"),
        ({"classes": {"even", "odd"}}, TypeError, "classes: a set has no order"),
        ({"sampling": fdconvert.Windowed(0, 5)}, ValueError, "sampling: its chunk must hold"),
        ({"sampling": 5}, TypeError, "sampling: 5 is not one of fdconvert's Shuffle, Sequential"),
        ({"seed": -1}, ValueError, "seed: -1 is out of range"),
        ({"classes": ["even"]}, ValueError, "classes: .* has the class `odd`"),
        ({"classes": ["even", "odd"], "label": None}, ValueError, "classes"),
        ({"augment": "mixup"}, ValueError, "augment"),
        ({"augment": ("randaugment", 2, 99)}, ValueError, "augment"),
        ({"on_error": "ignore"}, ValueError, "on_error"),
        ({"on_error": "quarantine:"}, ValueError, "on_error"),
        ({"sampling": fdconvert.Shuffle}, TypeError, "with parentheses"),
        ({"last": "pad", "drop_last": True}, ValueError, "drop_last"),
        ({"rank": 2, "world_size": 2}, ValueError, "rank: must be 0 to 1 for world_size=2, got 2"),
        ({"rank": 0, "world_size": 0}, ValueError, "world_size"),
        ({"rank": 1}, ValueError, "world_size: it is missing"),
        ({"world_size": 2}, ValueError, "rank: it is missing"),
        ({"flip": 2}, ValueError, "flip"),
        ({"output": "jax"}, ValueError, "output"),
        ({"pin_memory": True}, ValueError, "pin_memory"),
        ({"size": 0}, ValueError, "size"),
        ({"out": []}, ValueError, "out"),
    ],
)
def test_what_cannot_be_is_refused(
    beton: Path, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        small(beton, **options)


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
        ([], ValueError, "path: the list of datasets is empty"),
        ([("kodak.beton", 1e-300)], ValueError, "weight: 1e-300 .* less than one of its 12"),
        ([("kodak.beton", float("nan"))], ValueError, "weight"),
        ([("kodak.beton", 0)], ValueError, "weight: no dataset gives a sample"),
        ([("kodak.beton", "much")], TypeError, "path: the weight of .* is 'much'"),
        (("kodak.beton", 2), TypeError, "path: 2 is neither"),
        ({"kodak.beton": 2}, TypeError, "path: a dict has no order"),
        ([("kodak.beton", 1, None, 2)], TypeError, "path: .* is neither"),
        ([("kodak.beton", 1, 2)], TypeError, "split: it is the name of a split"),
    ],
)
def test_datasets_that_cannot_be_are_refused(
    beton: Path, path: Any, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(beton.parent)
    with pytest.raises(error, match=words):
        small(path)


def test_lists_and_types_of_libraries_are_options(beton: Path) -> None:
    expected = rows(small(beton, crop="rrc", scale=(0.2, 1), size=(24, 40), dtype="f32"))
    class Torch:
        def __str__(self) -> str:
            return "torch.float32"

    for dtype in [np.float32, np.dtype("f4"), Torch()]:
        found = small(beton, crop="rrc", scale=[0.2, 1], size=[24, 40], dtype=dtype)
        assert rows(found) == expected


def test_a_loader_tells_its_facts(photos: Path, beton: Path) -> None:
    dataset = fdconvert.Dataset(beton)
    loader = small([(beton, 2.5)])
    assert (loader.classes, loader.schema) == (dataset.classes, dataset.schema)
    assert (loader.n_samples, loader.rank, loader.world_size) == (30, 0, 1)
    assert small(beton, label=None).classes is None
    assert repr(small(beton, rank=1, world_size=2)).endswith("rank=1, world_size=2)")


def test_classes_of_several_datasets_are_numbered_by_name(photos: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    shutil.copytree(photos, one)
    shutil.copytree(photos, two)
    (two / "even").rename(two / "cat")
    loader = small([one, two], 24, sampling=fdconvert.Sequential())
    assert loader.classes == ["cat", "even", "odd"]
    (_, labels), = loader
    assert labels.tolist() == [1] * 6 + [2] * 6 + [0] * 6 + [2] * 6
    (_, labels), = small([one, two], 24, sampling=fdconvert.Sequential(), mixup=0.2, mix_prob=0)
    assert labels.argmax(1).tolist() == [1] * 6 + [2] * 6 + [0] * 6 + [2] * 6
    order = ["odd", "cat", "even", "more"]
    (_, labels), = small([one, two], 24, sampling=fdconvert.Sequential(), classes=order)
    assert labels.tolist() == [2] * 6 + [0] * 6 + [1] * 6 + [0] * 6
    # A class that a validation set lacks moves no other.
    (_, labels), = small(two, 24, sampling=fdconvert.Sequential(), classes=order)
    assert labels.tolist() == [1] * 6 + [0] * 6


def test_samples_that_come_again_by_weight_are_drawn_again(beton: Path) -> None:
    once = rows(small(beton, crop="rrc"))
    thrice = rows(small([(beton, 3)], crop="rrc"))
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
    # The next loop is the next epoch.
    with pytest.raises(fdconvert.DataError):
        list(loader)
    assert loader.epoch == 1

    def third(policy: str) -> tuple[Loader, fdconvert.Batch]:
        loader = small(broken, sampling=fdconvert.Sequential(), on_error=policy, batch_size=12)
        return loader, next(loader.batches())

    loader, batch = third("skip")
    assert batch.valid.tolist() == [row != 3 for row in range(12)]
    assert not batch.images[3].any()
    assert loader.stats()["failures"] == 1
    _, batch = third("substitute")
    assert batch.valid.all()
    assert batch.substituted.tolist() == [row == 3 for row in range(12)]
    assert batch.samples[3] != 3
    for _ in range(2):
        loader, batch = third(f"quarantine:{tmp_path / 'bad.jsonl'}")
        assert batch.substituted[3]
    assert json.loads((tmp_path / "bad.jsonl").read_text())["key"] == key
    with pytest.raises(fdconvert.DataError):
        list(small(broken, on_error="skip", max_failures=0))


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
    assert repr(loader) == f"fdconvert.Loader({str(beton)!r}, batch_size=4)"


FRACTALS = "fractal:svd?classes=2&instances=3&points=2000"


def test_a_recipe_is_drawn_as_large_as_it_is_shown() -> None:
    def drawn(recipe: str, **options: Any) -> list[Row]:
        return rows(small(recipe, crop=None, **options))

    assert drawn(FRACTALS) == drawn(FRACTALS + "&size=32")
    assert drawn(FRACTALS) != drawn(FRACTALS, draw_size="own") == drawn(FRACTALS + "&size=256")
    assert drawn(FRACTALS) == drawn(FRACTALS + "&size=256", draw_size="output")
    middle = rows(small(FRACTALS, crop="center", resize=36))
    assert middle == rows(small(FRACTALS + "&size=36", crop="center", resize=36))
    with pytest.raises(fdconvert.UsageError, match='draw_size: unknown `small`; expected one of "auto"'):
        small(FRACTALS, draw_size="small")
    with pytest.raises(fdconvert.UsageError, match="draw_size: .* 8 pixels"):
        small(FRACTALS, size=8, crop=None)


def test_recipes_stand_beside_datasets(beton: Path) -> None:
    loader = small([beton, (FRACTALS, 2)])
    samples = sorted(sample for sample, _, _ in rows(loader))
    assert samples == sorted([*range(12), *range(12, 18), *range(12, 18)])
    stats = loader.stats()
    assert stats["draw_s"] > 0 and stats["reads"] == 12
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
    direct = small(mixed, access="direct", fetch_threads=2)
    assert rows(direct) == plain
    kept = small(mixed, access="direct", cache_bytes=60_000)
    first, second = rows(kept), rows(kept)
    assert sorted(row[0] for row in first) == sorted(row[0] for row in second) == list(range(12))
    stats = kept.stats()
    assert stats["hits"] > 0 and stats["hits"] + stats["reads"] == 24
    with pytest.raises(fdconvert.UsageError, match="cache_bytes"):
        rows(small(mixed, cache_bytes=60_000, sampling=fdconvert.Sequential()))
    with pytest.raises(fdconvert.UsageError, match="access"):
        small(mixed, access="none")
