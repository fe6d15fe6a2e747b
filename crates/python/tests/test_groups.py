"""The groups of the loader's options: each field reaches its effect, or its error names it."""

import copy
import json
import os
import pickle
import subprocess
import sys
import textwrap
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Cache, Cuda, Objects, Output, Prefetch, Quarantine, Ranks, Skip, Storage, Substitute
from loading import rows, small

GROUPS: list[Any] = [
    Ranks(1, 4, last="pad", locality=True),
    Skip(7),
    Substitute(max_failures=0),
    Quarantine("/tmp/broken.jsonl", 3),
    Prefetch(5, bytes=1 << 20),
    Cache(1 << 20, "/tmp/cache", ranks_per_cache=2, policy="liquid"),
    Storage("direct", fetch_threads=4, ahead_bytes=0, retries=1, verify=False),
    Objects("objects", min_box=2.5, keypoint_flip=[1, 0], segmentations=False),
    Cuda(1, decoder="index", cache_bytes=5),
    Output("torch", pin_memory=True),
]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: type(group).__name__)
def test_groups_are_values(group: Any) -> None:
    for again in [pickle.loads(pickle.dumps(group)), copy.copy(group)]:
        assert again == group and hash(again) == hash(group)
    shown = repr(group)
    assert shown.startswith(f"fdconvert.{type(group).__name__}(")
    assert eval(shown, {"fdconvert": fdconvert}) == group
    with pytest.raises(FrozenInstanceError):
        setattr(group, fields(group)[0].name, 1)
    assert str(type(group).__doc__).count("\n") < 12


def test_a_group_shows_what_differs_from_its_defaults() -> None:
    assert repr(Storage()) == "fdconvert.Storage()"
    assert repr(Storage(retries=0)) == "fdconvert.Storage(retries=0)"
    assert repr(Cache(5)) == "fdconvert.Cache(5)"
    assert "out=array" in repr(Output(out=np.zeros(3)))


@pytest.mark.parametrize(
    ("group", "arguments", "error", "words"),
    [
        (Ranks, {"rank": 2, "world_size": 2}, ValueError, "rank: must be 0 to 1 for world_size=2, got 2"),
        (Ranks, {"rank": -1, "world_size": 2}, ValueError, "rank: -1 is out of range"),
        (Ranks, {"rank": 0, "world_size": 0}, ValueError, "world_size: 0 is out of range; expected 1"),
        (Ranks, {"rank": 1}, ValueError, "world_size: it is missing"),
        (Ranks, {"world_size": 2}, ValueError, "rank: it is missing"),
        (Ranks, {"rank": "1", "world_size": 2}, TypeError, "rank: '1' is no whole number"),
        (Ranks, {"last": "none"}, ValueError, 'last: unknown .none.; expected one of "short", "drop"'),
        (Ranks, {"locality": 1}, TypeError, "locality: 1 is neither True nor False"),
        (Skip, {"max_failures": -1}, ValueError, "max_failures: -1 is out of range"),
        (Substitute, {"max_failures": 1.5}, TypeError, "max_failures: 1.5 is no whole number"),
        (Quarantine, {"path": ""}, TypeError, "path: '' is no path"),
        (Quarantine, {"path": "x", "max_failures": True}, TypeError, "max_failures: True"),
        (Prefetch, {"batches": 0}, ValueError, "batches: 0 is out of range; expected 1 or more"),
        (Prefetch, {"bytes": -1}, ValueError, "bytes: -1 is out of range"),
        (Cache, {"bytes": 0}, ValueError, "bytes: 0 is out of range"),
        (Cache, {"bytes": 1 << 70}, ValueError, "bytes: .* is out of range; it is too large"),
        (Cache, {"bytes": 5, "folder": 5}, TypeError, "folder: 5 is no path"),
        (Cache, {"bytes": 5, "ranks_per_cache": 0}, ValueError, "ranks_per_cache: 0 is out of range"),
        (Cache, {"bytes": 5, "policy": "lru"}, ValueError, "policy: unknown 'lru'"),
        (Storage, {"access": "mmap"}, ValueError, 'access: .* "mapped", "direct"'),
        (Storage, {"fetch_threads": -1}, ValueError, "fetch_threads: -1 is out of range"),
        (Storage, {"ahead_bytes": "1"}, TypeError, "ahead_bytes: '1' is no whole number"),
        (Storage, {"retries": -1}, ValueError, "retries: -1 is out of range"),
        (Storage, {"verify": None}, TypeError, "verify: None is neither True nor False"),
        (Objects, {"field": None}, TypeError, "field: None is not the name of a field"),
        (Objects, {"field": "o", "min_box": "1"}, TypeError, "min_box: '1' is no number"),
        (Objects, {"field": "o", "keypoint_flip": 3}, TypeError, "keypoint_flip: 3 is no list"),
        (Objects, {"field": "o", "segmentations": 0}, TypeError, "segmentations: 0 is neither"),
        (Cuda, {"index": -1}, ValueError, "index: -1 is out of range"),
        (Cuda, {"decoder": "magic"}, ValueError, 'decoder: .* "index", "nvjpeg", "cpu"'),
        (Cuda, {"cache_bytes": -1}, ValueError, "cache_bytes: -1 is out of range"),
        (Output, {"kind": "jax"}, ValueError, 'kind: unknown .jax.; expected one of "auto", "numpy"'),
        (Output, {"pin_memory": 1}, TypeError, "pin_memory: 1 is neither"),
        (Output, {"pin_memory": True, "out": bytearray(9)}, ValueError, "pin_memory: .* `out`"),
        (Output, {"out": []}, ValueError, "out: the list is empty"),
    ],
)
def test_errors_name_the_field(
    group: Any, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=rf"^{group.__name__}\.{words}"):
        group(**arguments)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"ranks": (0, 2)}, TypeError, r"ranks: \(0, 2\) is no fdconvert.Ranks"),
        ({"errors": "skip"}, ValueError, r"errors: .*write errors=fdconvert.Skip\(\)"),
        ({"errors": "substitute"}, ValueError, r"errors: .*write errors=fdconvert.Substitute\(\)"),
        ({"errors": "quarantine:x"}, ValueError, r"errors: .*errors=fdconvert.Quarantine\('x'\)"),
        ({"errors": "ignore"}, ValueError, r'errors: unknown .*expected "raise", fdconvert.Skip\(\)'),
        ({"errors": None}, TypeError, "errors: None; expected"),
        ({"errors": Skip}, TypeError, "errors: .*Skip"),
        ({"prefetch": "3"}, TypeError, "prefetch: '3' is neither a number of batches nor an? fdconvert"),
        ({"cache": "1 GiB"}, TypeError, "cache: .* neither a number of bytes nor an? fdconvert.Cache"),
        ({"cache": 0}, ValueError, "Cache.bytes: 0 is out of range"),
        ({"storage": "direct"}, TypeError, "storage: 'direct' is no fdconvert.Storage"),
        ({"objects": 5}, TypeError, "objects: 5 is neither the name of a field"),
        ({"objects": "label"}, ValueError, "objects: "),
        ({"device": "gpu"}, ValueError, 'device: unknown `gpu`; expected one of "cpu", "cuda"'),
        ({"output": "jax"}, ValueError, 'output: unknown .jax.; expected one of "auto", "numpy"'),
        ({"output": Output("array", pin_memory=True)}, ValueError, "Output.pin_memory: .*torch"),
        # What only the engine knows is named in the same way.
        ({"cache": 5}, ValueError, "Cache.bytes: 5 bytes keep no image"),
        ({"ranks": Ranks(locality=True)}, ValueError, "Ranks.locality|Cache.bytes"),
        ({"storage": Storage(fetch_threads=5000)}, ValueError, "Storage.fetch_threads: "),
        ({"storage": Storage("direct"), "path": "folder"}, ValueError, "Storage.access: "),
    ],
)
def test_the_loader_names_its_argument(
    photos: Path, beton: Path, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    path = photos if options.pop("path", None) else beton
    with pytest.raises(error, match=f"^({words})"):
        rows(small(path, **options))


def test_short_forms_are_those_of_groups(beton: Path) -> None:
    expected = rows(small(beton))
    assert rows(small(beton, prefetch=2)) == rows(small(beton, prefetch=Prefetch(2))) == expected
    plain, kept = small(beton, cache=1 << 20), small(beton, cache=Cache(1 << 20))
    assert [rows(it) for it in [plain, plain]] == [rows(it) for it in [kept, kept]]
    assert plain.stats()["hits"] == kept.stats()["hits"] == 12
    assert rows(small(beton, storage=Storage(), errors="raise", device=None)) == expected
    assert rows(small(beton, device="cpu", output=Output("numpy"))) == expected


def test_groups_reach_the_engine(beton: Path, tmp_path: Path) -> None:
    assert [len(small(beton, 5, ranks=Ranks(last=last))) for last in ("short", "drop", "pad")] == [3, 2, 3]
    padded = [batch.valid.sum() for batch in small(beton, 5, ranks=Ranks(last="pad")).batches()]
    assert padded == [5, 5, 2]
    kept = small(beton, cache=Cache(1 << 20, tmp_path / "cache"))
    rows(kept)
    assert any((tmp_path / "cache").iterdir())
    direct = small(beton, storage=Storage("direct", fetch_threads=2))
    assert rows(direct) == rows(small(beton))
    with pytest.raises(fdconvert.UsageError, match="Prefetch.bytes|memory"):
        list(small(beton, 4, prefetch=Prefetch(bytes=0)))
    out = np.zeros((4, 32, 32, 3), np.uint8)
    for images, _ in small(beton, output=Output("numpy", out=out)):
        assert np.shares_memory(images, out)


@pytest.fixture
def damaged(beton: Path, tmp_path: Path) -> Path:
    """The dataset with a flipped bit in the last image."""
    path = tmp_path / "damaged.beton"
    content = bytearray(beton.read_bytes())
    image = fdconvert.Dataset(beton).get(11)["image"]["bytes"]
    at = bytes(content).rindex(image[20:])
    content[at + len(image) // 2] ^= 1
    path.write_bytes(content)
    return path


def test_failures_are_treated_as_the_policy_says(damaged: Path, tmp_path: Path) -> None:
    def valid(errors: Any, **options: Any) -> tuple[int, int]:
        loader = small(damaged, 12, errors=errors, sampling=fdconvert.Sequential(), **options)
        (batch,) = loader.batches()
        return int(batch.valid.sum()), int(batch.substituted.sum())

    with pytest.raises(fdconvert.DataError):
        valid("raise")
    assert valid(Skip()) == (11, 0)
    assert valid(Substitute()) == (12, 1)
    assert valid(Quarantine(tmp_path / "bad.jsonl")) == (12, 1)
    assert json.loads((tmp_path / "bad.jsonl").read_text())["sample"] == 11
    with pytest.raises(fdconvert.DataError, match="failures|more than 0"):
        valid(Skip(max_failures=0))
    # Unchecked, the bit is a wrong pixel.
    assert valid("raise", storage=Storage(verify=False)) == (12, 0)


def test_paths_are_those_of_the_process_that_made_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    groups = Quarantine("bad.jsonl"), Cache(5, Path("cache"))
    assert [groups[0].path, groups[1].folder] == [str(tmp_path / "bad.jsonl"), str(tmp_path / "cache")]


def test_a_pickled_loader_keeps_its_groups(beton: Path) -> None:
    loader = small(
        beton, 2, ranks=Ranks(1, 2, last="pad", locality=True), cache=1 << 20, errors=Skip(),
        prefetch=Prefetch(2), storage=Storage(retries=1), output=Output("array"),
    )
    again = pickle.loads(pickle.dumps(loader))
    assert (again.rank, again.world_size, len(again)) == (1, 2, 3)
    batches = zip(loader.batches(), again.batches(), strict=True)
    assert [one.samples.tobytes() == other.samples.tobytes() for one, other in batches] == [True] * 3
    assert type(next(again.batches()).images) is fdconvert.Array


def kind_by_default(beton: Path, *before: str) -> str:
    """The module of a batch's images in a process that has run some lines."""
    lines = "\n".join(before)
    script = f"import sys, fdconvert\n{lines}\n" + textwrap.dedent(f"""
        images, labels = next(iter(fdconvert.Loader({str(beton)!r}, 4)))
        assert type(images) is type(labels)
        print(type(images).__module__)
        assert "torch" in sys.modules or {"import torch" not in lines}
    """)
    run = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True,
        env=os.environ | {"WORLD_SIZE": ""},
    )
    return run.stdout.strip()


def test_arrays_are_torchs_only_where_torch_is_imported(beton: Path) -> None:
    assert kind_by_default(beton) == "numpy"
    assert kind_by_default(beton, "sys.modules['numpy'] = None") == "fdconvert"
    assert kind_by_default(beton, "sys.modules['torch'] = None") == "numpy"


def test_arrays_are_torchs_where_torch_is_imported(beton: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    assert kind_by_default(beton, "import torch") == "torch"
