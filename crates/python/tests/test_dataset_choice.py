"""Datasets of chosen samples: where, keys, split, select, concat, mix."""

import array
import collections
import copy
import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fdconvert
import pytest

np = pytest.importorskip("numpy")

TINY = [fdconvert.transforms.Resize((16, 16))]


def loaded(source: Any, **options: Any) -> list[int]:
    """Numbers of the samples of an epoch, in the order of the rows."""
    with fdconvert.Loader(source, 5, transform=TINY, output="numpy", label=None, **options) as loader:
        return [int(it) for batch in loader.batches() for it in batch.samples[batch.valid]]


def keys(dataset: fdconvert.Dataset) -> list[str]:
    return [dataset.key(index) for index in range(len(dataset))]


@pytest.fixture
def whole(beton: Path) -> fdconvert.Dataset:
    return fdconvert.Dataset(beton)


@pytest.fixture
def wide(photos: Path, tmp_path: Path) -> Path:
    """A dataset of two splits in shards."""
    folder = tmp_path / "images"
    for number, photo in enumerate(sorted(photos.rglob("*.png"))):
        target = folder / ("val" if number % 3 == 0 else "train") / photo.parent.name
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(photo, target)
    fdconvert.pack(folder, tmp_path / "wide.wds", jpeg_quality=80, max_side=64)
    return tmp_path / "wide.wds"


def test_where_takes_the_objects_of_an_image(photos: Path, tmp_path: Path) -> None:
    files = [file.relative_to(photos).as_posix() for file in sorted(photos.rglob("*.png"))]
    rows = [
        {"path": file, "objects": {"bbox": [[1, 2, 3, 4]] * n, "category_name": ["car", "dog"][:n]}}
        for file, n in zip(files, [0, 1, 2], strict=False)
    ]
    table = tmp_path / "objects.jsonl"
    table.write_text("\n".join(json.dumps(row) for row in rows))
    fdconvert.pack(photos, tmp_path / "objects.beton", labels=table)
    dataset = fdconvert.Dataset(tmp_path / "objects.beton")
    assert keys(dataset.where("any(category == 'car' && width == 3)")) == files[1:3]
    assert keys(dataset.where("count(area >= 12) == 2 || n_objects == 0")) == [files[0], files[2]]
    with pytest.raises(fdconvert.UsageError, match="column 5"):
        dataset.where("any(colour == 1)")


def test_where_takes_the_expressions_of_pack(whole: fdconvert.Dataset) -> None:
    odd = whole.where('label == "odd" && width > height')
    labels = whole.labels() or []
    expected = [
        index
        for index, label in enumerate(labels)
        if label == 1 and whole[index]["image"].shape[1] > whole[index]["image"].shape[0]
    ]
    assert keys(odd) == [whole.key(index) for index in expected]
    assert odd.labels() == [1] * len(expected)
    # Numbers of classes stay, though one of them is empty.
    assert odd.classes == whole.classes == ["even", "odd"]
    assert odd.schema == whole.schema
    assert len(whole) == 12
    assert keys(odd.where("index < 2")) == keys(odd)[:2]
    assert len(whole.where("width > 10000")) == 0
    for expression, part in [
        ("width >", "column"),
        ("breadth > 3", "breadth"),
        ('label == "cat"', "not among the classes of the source: even, odd"),
        ("label > 3", "column"),
    ]:
        with pytest.raises(fdconvert.UsageError, match=part):
            whole.where(expression)


def test_keys_are_a_file_or_an_iterable(whole: fdconvert.Dataset, tmp_path: Path) -> None:
    wanted = [whole.key(7), whole.key(2)]
    file = tmp_path / "keys.txt"
    file.write_text("\n".join(wanted), encoding="utf-8")
    forms: list[Any] = [file, str(file), wanted, iter(wanted), dict.fromkeys(wanted)]
    for given in forms:
        # In the order of the dataset.
        assert keys(whole.keys(given)) == [whole.key(2), whole.key(7)]
    with pytest.raises(fdconvert.UsageError, match="1 of its 2 keys are not in the source: `x.jpg`"):
        whole.keys(["x.jpg", whole.key(0)])
    with pytest.raises(fdconvert.UsageError, match="not in the source"):
        whole.select(range(2)).keys([whole.key(2)])
    with pytest.raises(fdconvert.UsageError, match="again at position 1"):
        whole.keys([whole.key(0), whole.key(0)])
    with pytest.raises(FileNotFoundError):
        whole.keys("none.txt")
    for wrong in [[1, 2], 5, None]:
        with pytest.raises(TypeError, match="keys"):
            whole.keys(wrong)  # type: ignore[arg-type]


def test_a_split_is_chosen_when_one_is_needed(wide: Path) -> None:
    whole = fdconvert.Dataset(wide)
    assert whole.classes == ["even", "odd"]
    uses: list[Any] = [len, fdconvert.Loader, list, lambda it: it[0], lambda it: it.labels()]
    for use in uses:
        with pytest.raises(fdconvert.UsageError, match='train 8, val 4.*split.*"train"'):
            use(whole)
    train, val = whole.split("train"), whole.split(["val"])
    assert (len(train), len(val)) == (8, 4)
    assert len(whole.split("all")) == len(whole.split(["train", "val"])) == 12
    assert keys(train) == keys(fdconvert.Dataset(wide, split="train"))
    assert keys(whole.where('split == "val"')) == keys(val)
    assert len(whole.where('split in ["val", "train"] && width > 0')) == 12
    with pytest.raises(fdconvert.UsageError, match="2 splits"):
        len(whole.where("width > 0"))
    # An order that takes turns between splits has none.
    with pytest.raises(fdconvert.UsageError, match="2 splits"):
        whole.select([0, 11, 1, 10])
    assert len(whole.split("all").select([0, 11, 1, 10])) == 4
    assert len(whole.select(range(3))) == 3
    with pytest.raises(fdconvert.UsageError, match="`test` is not one of the splits"):
        whole.split("test")
    with pytest.raises(fdconvert.UsageError, match="`val` is no split of"):
        train.split("val")
    with pytest.raises(TypeError, match="split"):
        whole.split(3)  # type: ignore[arg-type]


def test_positions_have_many_forms(whole: fdconvert.Dataset) -> None:
    n = len(whole)
    every = keys(whole)
    mask = [index % 5 == 1 for index in range(n)]
    forms: list[Any] = [
        range(2, 9),
        range(10, 0, -3),
        range(-3, 0),
        range(-2, 3),
        range(0),
        slice(1, None, 4),
        slice(None),
        [3, 1, 1, 3, 0, -1],
        (5, 2),
        (index for index in [4, 4]),
        [],
        mask,
        np.array(mask),
        np.array([3, 1, 3]),
        np.array([-1, 2], dtype=np.int8),
        np.array([9, 2], dtype=np.uint64),
        np.arange(12)[::2],
        np.array([], dtype=np.int64),
        array.array("i", [5, 6, 6]),
        [np.int64(4), np.uint8(2)],
    ]
    for form in forms:
        if isinstance(form, (range, slice)):
            expected = [every[index] for index in range(n)[form]] if isinstance(form, slice) else [
                every[index] for index in form
            ]
        elif not isinstance(form, Iterator):
            listed = list(form)
            if len(listed) == n and isinstance(listed[0], (bool, np.bool_)):
                listed = [index for index, taken in enumerate(listed) if taken]
            expected = [every[int(index)] for index in listed]
        else:
            expected = [every[4], every[4]]
        assert keys(whole.select(form)) == expected, form
    twice = whole.select([3, 3])
    assert np.array_equal(twice[0]["image"], twice[1]["image"])
    for beyond in [[12], [-13], range(13), range(-13, 0), np.array([12]), np.array([2**63], np.uint64)]:
        with pytest.raises(IndexError, match="12 samples"):
            whole.select(beyond)
    for short in [mask[:-1], np.array([True])]:
        with pytest.raises(fdconvert.UsageError, match="a mask of"):
            whole.select(short)
    wrong: list[Any] = ["12", b"12", [1.5], np.array([1.5]), 3, None, [True, 1], np.zeros((2, 2), int)]
    for it in wrong:
        with pytest.raises(TypeError, match="positions"):
            whole.select(it)


def test_torch_tensors_are_positions(whole: fdconvert.Dataset) -> None:
    torch = pytest.importorskip("torch")
    assert keys(whole.select(torch.tensor([2, 1]))) == [whole.key(2), whole.key(1)]
    assert len(whole.select(torch.arange(12) > 8)) == 3


def test_choices_follow_each_other(whole: fdconvert.Dataset) -> None:
    chosen = whole.where('label == "odd"').select([5, 0, 0, 3]).where("index > 0").select(range(1, 3))
    odd = [index for index, label in enumerate(whole.labels() or []) if label == 1]
    assert keys(chosen) == [whole.key(odd[0]), whole.key(odd[3])]
    shown = repr(chosen)
    assert shown.startswith("<fdconvert.Dataset(") and shown.endswith(" of 2 samples>")
    calls = [".where('label == \"odd\"')", ".select([4 positions])", ".select(range(1, 3))"]
    assert all(call in shown for call in calls), shown
    assert chosen.path == whole.path
    assert chosen._repr_html_().count("<img") == 2
    assert [sample["label"] for sample in chosen] == [1, 1]
    assert chosen[-1]["label"] == chosen.get(1)["label"] == 1
    with pytest.raises(IndexError):
        chosen[2]
    assert fdconvert.Dataset(str(whole.path), decode=None).select([0]).get(0)["image"]["bytes"]


def test_a_loader_takes_chosen_samples(whole: fdconvert.Dataset) -> None:
    in_order = fdconvert.Sequential()
    for positions in [range(2, 9), [3, 1, 1, 8], [10, 9]]:
        chosen = whole.select(positions)
        assert loaded(chosen, sampling=fdconvert.Sequential()) == list(range(len(chosen)))
        assert sorted(loaded(chosen)) == list(range(len(chosen)))
        with fdconvert.Loader(chosen, 4, transform=TINY, sampling=in_order, output="numpy") as loader:
            assert loader.classes == whole.classes
            rows = [row for images, _ in loader for row in np.array(images)]
        with fdconvert.Loader(whole, 12, transform=TINY, sampling=in_order, output="numpy") as loader:
            every = np.array(next(iter(loader))[0])
        assert all(np.array_equal(row, every[at]) for row, at in zip(rows, positions, strict=True))
    path = str(whole.path)
    assert loaded(whole, seed=3) == loaded(path, seed=3)
    assert sorted(loaded(fdconvert.concat([whole.select([0, 1]), path]))) == list(range(14))
    with pytest.raises(fdconvert.UsageError, match="is empty"):
        fdconvert.Loader(whole.select([]))
    with pytest.raises(TypeError, match="split by fdconvert.Dataset"):
        fdconvert.Loader([(path, 1, "train")])  # type: ignore[arg-type]
    with pytest.raises(fdconvert.UsageError, match="transform"):
        fdconvert.Loader(fdconvert.Dataset(path, transform=len))
    assert "select(range(2, 4))" in repr(fdconvert.Loader(whole.select(range(2, 4))))


def test_a_checkpoint_belongs_to_its_choice(whole: fdconvert.Dataset) -> None:
    odd = whole.where('label == "odd"')
    loader = fdconvert.Loader(odd, 2, transform=TINY)
    batches = loader.batches()
    next(batches)
    state = loader.state_dict()
    rest = [batch.samples.tolist() for batch in batches]
    same = whole.select([at for at, label in enumerate(whole.labels() or []) if label == 1])
    for again in [odd, same]:
        resumed = fdconvert.Loader(again, 2, transform=TINY)
        resumed.load_state_dict(state)
        assert [batch.samples.tolist() for batch in resumed.batches()] == rest
    for other in [whole, whole.select(range(6)), whole.where('label == "even"')]:
        with pytest.raises(fdconvert.UsageError):
            fdconvert.Loader(other, 2, transform=TINY).load_state_dict(state)


def test_concat_is_one_dataset_after_the_other(
    whole: fdconvert.Dataset, photos: Path, tmp_path: Path
) -> None:
    some = whole.select([5, 5, 0])
    both = fdconvert.concat([whole, some])
    assert keys(both) == keys(whole) + keys(some)
    assert both.labels() == (whole.labels() or []) + (some.labels() or [])
    assert (both.classes, both.schema, both.path) == (whole.classes, whole.schema, None)
    assert np.array_equal(both[12]["image"], whole[5]["image"])
    assert keys(both.select([13, 1])) == [whole.key(5), whole.key(1)]
    assert loaded(both, sampling=fdconvert.Sequential()) == list(range(15))
    path = str(whole.path)
    assert repr(both).startswith("<fdconvert.concat([") and "15 samples" in repr(both)
    # Classes are joined by name.
    shutil.copytree(photos / "odd", tmp_path / "more/bee")
    shutil.copytree(photos / "odd", tmp_path / "more/odd")
    fdconvert.pack(tmp_path / "more", tmp_path / "more.beton", jpeg_quality=90, max_side=96)
    joined = fdconvert.concat([path, tmp_path / "more.beton"])
    assert joined.classes == ["bee", "even", "odd"]
    assert collections.Counter(joined.labels() or []) == {0: 6, 1: 6, 2: 12}
    assert joined[0]["label"] == joined.get(0)["label"] == 1
    assert len(joined.where('label == "odd"')) == 12
    fdconvert.pack(photos / "odd", tmp_path / "bare.beton", max_side=96, jpeg_quality=90)
    with pytest.raises(fdconvert.UsageError, match="other fields"):
        fdconvert.concat([path, tmp_path / "bare.beton"])
    for wrong in [path, whole, 3]:
        with pytest.raises(TypeError, match="datasets"):
            fdconvert.concat(wrong)  # type: ignore[arg-type]
    with pytest.raises(fdconvert.UsageError, match="there is none"):
        fdconvert.concat([])
    with pytest.raises(fdconvert.UsageError, match="they differ in decode"):
        fdconvert.concat([whole, fdconvert.Dataset(path, decode=None)])


def test_a_mix_gives_each_dataset_its_share_of_an_epoch(whole: fdconvert.Dataset) -> None:
    a, b = whole.select(range(8)), whole.select(range(8, 12))
    mixed = fdconvert.mix([(a, 0.25), (b, 0.75)])
    assert keys(mixed) == keys(whole)
    assert (len(mixed), mixed.classes, mixed.labels()) == (12, whole.classes, whole.labels())
    assert mixed.schema == whole.schema
    for epoch in range(3):
        with fdconvert.Loader(mixed, 4, transform=TINY, label=None, seed=epoch) as loader:
            assert loader.n_samples == 12
            came = collections.Counter(
                int(it) for batch in loader.batches() for it in batch.samples
            )
        assert sum(n for sample, n in came.items() if sample < 8) == 3
        assert max(came[sample] for sample in range(8)) == 1
        # Nine rows of four samples.
        assert sorted(came[sample] for sample in range(8, 12)) == [2, 2, 2, 3]
    path = str(whole.path)
    same = fdconvert.mix({path: 1, a: 1})
    assert len(loaded(same)) == len(same) == 20
    assert loaded(fdconvert.mix({a: 2, b: 6})) == loaded(mixed)
    refusals: list[Callable[[], object]] = [
        lambda: mixed.select([0]),
        lambda: mixed.where("width > 1"),
        lambda: fdconvert.concat([mixed, a]),
        lambda: fdconvert.mix({mixed: 1, a: 1}),
    ]
    for refused in refusals:
        with pytest.raises(fdconvert.UsageError, match="mix"):
            refused()
    for share in [0, -1, float("nan"), float("inf"), 1e-9]:
        with pytest.raises(fdconvert.UsageError, match="share"):
            fdconvert.mix([(a, share), (b, 1)])
    for wrong in [[a, b], {a: "x"}, 3]:
        with pytest.raises(TypeError, match="shares"):
            fdconvert.mix(wrong)  # type: ignore[arg-type]


def test_choices_are_pickled(whole: fdconvert.Dataset, wide: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    file.write_text(whole.key(3) + "\n" + whole.key(9), encoding="utf-8")
    train = fdconvert.Dataset(wide).where("width > 1").split("train")
    named = fdconvert.Dataset(wide).where('split in ["train", "val"]')
    for dataset in [
        whole.where('label == "odd"'),
        whole.keys(file),
        whole.keys([whole.key(1)]),
        whole.select(range(2, 8)).select([3, 0, 0]),
        train,
        named,
        fdconvert.concat([whole, whole.select([1, 1])]).select(range(5, 14)),
        fdconvert.mix({whole: 0.5, whole.select(range(4)): 0.5}),
        fdconvert.Dataset(wide, split="val", decode=None).select([1, 0]),
    ]:
        for again in [pickle.loads(pickle.dumps(dataset)), copy.copy(dataset)]:
            assert keys(again) == keys(dataset)
            assert repr(again) == repr(dataset)
            assert loaded(again, seed=2) == loaded(dataset, seed=2)
    pickled = tmp_path / "chosen.pickle"
    pickled.write_bytes(pickle.dumps(train))
    program = (
        "import pickle, sys\n"
        "dataset = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(len(dataset), dataset.key(1))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(pickled)], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["8", train.key(1)]
    loader = fdconvert.Loader(whole.select([4, 4, 2, 9]), 2, transform=TINY)
    next(iter(loader))
    assert len(pickle.loads(pickle.dumps(loader))) == 2


def test_long_choices_are_pickled_as_they_were_made(tmp_path: Path) -> None:
    # Generated, as so many stored images take long.
    whole = fdconvert.Dataset("fractal:svd?classes=40000&instances=2")
    assert len(whole) == 80_000
    chosen = whole.where('key contains "7"')
    assert len(chosen) > 20_000 and len(pickle.dumps(chosen)) < 1000
    again = pickle.loads(pickle.dumps(chosen))
    assert len(again) == len(chosen) and again.key(20_000) == chosen.key(20_000)
    odd = [index * 7 % 80_000 for index in range(40_000) if index % 3]
    listed = whole.select(np.array(odd))
    assert len(pickle.dumps(listed)) < 5 * len(odd)
    assert keys(pickle.loads(pickle.dumps(listed)).select([0, -1])) == [
        whole.key(odd[0]),
        whole.key(odd[-1]),
    ]
