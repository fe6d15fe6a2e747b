"""The loader: its batches, their memory, where it continues, and what processes do to it."""

import gc
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Array, Loader

Row = tuple[int, int, bytes]


def rows(loader: Loader) -> list[Row]:
    """One epoch: number, label and pixels of each row."""
    found = []
    for batch in loader.batches():
        for sample, label, image in zip(batch.samples, batch.labels, batch.images, strict=True):
            found.append((int(sample), int(label), image.tobytes()))
    return found


def small(path: Any, batch_size: int = 4, **options: Any) -> Loader:
    return Loader(path, batch_size, **{"seed": 7, "threads": 2, "size": 32} | options)


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
    (plain, _), *_ = small(beton, shuffle=False)
    (scaled, _), *_ = small(beton, shuffle=False, dtype="f32")
    (normal, _), *_ = small(beton, shuffle=False, dtype="f32", mean=mean, std=std, layout="nchw")
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
    (images, labels), *_ = small(beton, output="array", shuffle=False)
    assert type(images) is type(labels) is Array
    assert (images.shape, images.dtype, labels.dtype) == ((4, 32, 32, 3), "uint8", "int64")
    (expected, _), *_ = small(beton, shuffle=False)
    assert images.tobytes() == expected.tobytes()


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
    straight = small(beton, shuffle=False)
    assert [sample for sample, _, _ in rows(straight)] == list(range(12))
    windowed = small(beton, shuffle=(2, 4))
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
    plain = rows(small(beton, shuffle=False))
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
        other = rows(small(beton, shuffle=False, **changed))
        assert [row[:2] for row in other] == [row[:2] for row in plain]
        assert [row[2] for row in other] != [row[2] for row in plain], changed
    flipped = [np.frombuffer(row[2], np.uint8) for row in rows(small(beton, shuffle=False, flip=1))]
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
        ({"crop": "rrc", "scale": (0.5, 0.1)}, ValueError, "crop"),
        ({"dtype": "f64"}, ValueError, "dtype"),
        ({"layout": "chw"}, ValueError, "layout"),
        ({"mean": (0, 0, 0)}, ValueError, "std"),
        ({"mean": (0, 0, 0), "std": (1, 1, 1)}, ValueError, "normalise"),
        ({"augment": "mixup"}, ValueError, "augment"),
        ({"augment": ("randaugment", 2, 99)}, ValueError, "augment"),
        ({"errors": "ignore"}, ValueError, "errors"),
        ({"errors": "quarantine:"}, ValueError, "errors"),
        ({"shuffle": (1, 2, 3)}, TypeError, "shuffle"),
        ({"last": "pad", "drop_last": True}, ValueError, "drop_last"),
        ({"rank": 2, "world_size": 2}, ValueError, "world"),
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
    with pytest.raises(FileNotFoundError):
        small(beton.parent / "missing.beton")


def test_it_goes_on_in_the_middle(beton: Path) -> None:
    loader = small(beton)
    whole = [rows(loader), rows(loader)]
    loader = small(beton)
    batches = loader.batches()
    head = rows_of(next(batches))
    text = json.dumps(loader.state_dict())
    assert json.loads(text)["state"] == loader.state_dict()["state"]

    again = small(beton, threads=1)
    again.load_state_dict(json.loads(text))
    again.set_epoch(0)
    assert head + rows(again) == whole[0]
    assert rows(again) == whole[1]
    # Another size of batch continues at the same sample.
    again = small(beton, 2)
    again.load_state_dict(json.loads(text))
    assert len(rows(again)) == 8

    script = """
        import json, pickle, sys
        loader = pickle.load(sys.stdin.buffer)
        json.dump([batch.samples.tolist() for batch in loader.batches()], sys.stdout)
    """
    code = [sys.executable, "-P", "-c", textwrap.dedent(script)]
    run = subprocess.run(code, input=pickle.dumps(loader), stdout=subprocess.PIPE, check=True)
    assert sum(json.loads(run.stdout), []) == [row[0] for row in whole[0][4:]]
    # Pickling has taken nothing from it.
    assert head + [row for batch in batches for row in rows_of(batch)] == whole[0]
    assert loader.epoch == 1


def rows_of(batch: fdconvert.Batch) -> list[Row]:
    return [
        (int(sample), int(label), image.tobytes())
        for sample, label, image in zip(batch.samples, batch.labels, batch.images, strict=True)
    ]


def test_states_of_others_are_refused(beton: Path, photos: Path) -> None:
    state = small(beton).state_dict()
    with pytest.raises(fdconvert.UsageError, match="state"):
        small(photos).load_state_dict(state)
    with pytest.raises(fdconvert.UsageError, match="state"):
        small(beton, seed=8).load_state_dict(state)
    for wrong in [{}, {"version": 2, "state": state["state"]}, state | {"state": "00"}]:
        with pytest.raises(fdconvert.UsageError, match="state"):
            small(beton).load_state_dict(wrong)


def test_ranks_share_the_dataset(beton: Path) -> None:
    ranks = [small(beton, 2, rank=rank, world_size=2) for rank in range(2)]
    assert [len(rank) for rank in ranks] == [3, 3]
    shares = [[row[0] for row in rows(rank)] for rank in ranks]
    assert sorted(shares[0] + shares[1]) == list(range(12))
    assert ranks[0].state_dict() == ranks[1].state_dict()


@pytest.mark.parametrize("size", [1, 2, 4])
def test_rows_go_to_the_ranks_that_keep_their_samples(beton: Path, size: int) -> None:
    plain = small(beton, 4, crop="rrc")
    ranks = [
        small(
            beton, 4 // size, crop="rrc", rank=rank, world_size=size, cache_bytes=1 << 24, locality=True
        )
        for rank in range(size)
    ]
    for _ in range(3):
        steps = zip(plain.batches(), *(rank.batches() for rank in ranks), strict=True)
        for whole, *parts in steps:
            dealt = [row for part in parts for row in rows_of(part)]
            assert sorted(dealt) == sorted(rows_of(whole))
            assert all(part.state == whole.state for part in parts)
    stats = [rank.stats() for rank in ranks]
    # Once for its owner, and for each row that moved.
    assert sum(it["reads"] for it in stats) <= 12 + sum(it["moved"] for it in stats)
    assert sum(it["hits"] + it["reads"] for it in stats) == 36
    with pytest.raises(fdconvert.UsageError, match="cache_bytes"):
        small(beton, locality=True)
    with pytest.raises(fdconvert.UsageError, match="ranks_per_cache"):
        small(beton, cache_bytes=1 << 20, ranks_per_cache=0)


def rank_of_a_machine(path: Path, options: dict[str, Any], ready: Any, results: Any) -> None:
    """Three epochs on one rank: the samples and the reads of each."""
    loader = small(path, 2, **options)
    epochs = []
    for _ in range(3):
        ready.wait(timeout=60)
        loader.reset_stats()
        samples = [row[0] for row in rows(loader)]
        epochs.append((samples, loader.stats()["reads"]))
    results.put(epochs)


@pytest.mark.parametrize("locality", [False, True])
def test_processes_of_a_machine_read_every_sample_once(
    beton: Path, tmp_path: Path, locality: bool
) -> None:
    size = 3
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(size), context.Queue()
    shared = {"world_size": size, "cache_bytes": 1 << 24, "cache_folder": tmp_path / "cache"}
    if locality:
        shared |= {"locality": True, "ranks_per_cache": size}
    processes = [
        context.Process(
            target=rank_of_a_machine, args=(beton, shared | {"rank": rank}, ready, results)
        )
        for rank in range(size)
    ]
    for process in processes:
        process.start()
    of_ranks = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(timeout=60)
        assert process.exitcode == 0
    for number, epoch in enumerate(zip(*of_ranks, strict=True)):
        assert sorted(sample for samples, _ in epoch for sample in samples) == list(range(12))
        assert sum(reads for _, reads in epoch) == (12 if number == 0 else 0)


def test_broken_samples(broken: Path, tmp_path: Path) -> None:
    key = fdconvert.Dataset(broken).key(3)
    loader = small(broken, shuffle=False, threads=2, batch_size=2)
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
        loader = small(broken, shuffle=False, errors=policy, batch_size=12)
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
        list(small(broken, errors="skip", max_failures=0))


def test_memory_goes_back_when_nobody_looks(beton: Path) -> None:
    loader = small(beton, 1, prefetch=1)
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
    expected = [(images.copy(), labels) for images, labels in small(beton, 5, dtype="f16")]
    arrays = [np.zeros((5, 32, 32, 3), np.float16) for _ in range(2)]
    outs: list[list[Any]] = [arrays, [bytearray(5 * 32 * 32 * 6) for _ in range(2)]]
    for out in outs:
        for n, (images, labels) in enumerate(small(beton, 5, dtype="f16", out=out)):
            np.testing.assert_array_equal(images, expected[n][0])
            np.testing.assert_array_equal(labels, expected[n][1])
            assert np.shares_memory(images, np.frombuffer(out[n % 2], np.uint8))
    one = np.zeros(5 * 32 * 32 * 6, np.uint8)
    loader = small(beton, 5, dtype="f16", out=one)
    kept = [images for images, _ in loader]
    assert loader.stats()["batches_kept"] == 0
    assert kept[0].ctypes.data == kept[1].ctypes.data == one.ctypes.data
    whole = [images.shape[0] for images, _ in loader]
    assert sum(whole) == 12
    for wrong in [b"x" * one.nbytes, one[:-1], np.zeros((2, one.nbytes), np.uint8)[:, ::2]]:
        loader = small(beton, 5, dtype="f16", out=wrong)
        before = loader.state_dict()
        with pytest.raises(fdconvert.UsageError, match="out"):
            next(iter(loader))
        # No batch was lost.
        assert loader.state_dict() == before
    with pytest.raises(TypeError):
        next(iter(small(beton, out=3)))


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
    with pytest.raises(fdconvert.UsageError, match='draw_size: `small` is none of "auto"'):
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


def test_the_interpreter_runs_while_it_waits(beton: Path) -> None:
    loader = small(beton, 1, prefetch=1)
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


def test_ctrl_c_ends_the_waiting(beton: Path) -> None:
    script = f"""
        import fdconvert, signal, sys
        # A shell that started the tests in the background ignores it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        loader = fdconvert.Loader({str(beton)!r}, 1, size=32, prefetch=1)
        batches = iter(loader)
        kept = [next(batches), next(batches)]
        before = loader.state_dict()
        print("waiting", flush=True)
        try:
            next(batches)
        except KeyboardInterrupt:
            assert loader.state_dict() == before
            kept.clear()
            rest = sum(1 for _ in batches)
            print("interrupted", rest)
    """
    code = [sys.executable, "-P", "-c", textwrap.dedent(script)]
    with subprocess.Popen(code, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted 10\n"
    assert process.returncode == 0


def test_both_sides_of_a_fork_go_on(beton: Path) -> None:
    expected = rows(small(beton, 2))
    loader = small(beton, 2)
    batches = loader.batches()
    first = next(batches)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(60)
            inherited = rows_of(first)
            # What the child drops is the parent's to give back.
            del first
            rest = [row for batch in batches for row in rows_of(batch)]
            status = int(inherited + rest != expected)
            os.write(writing, b"done")
        finally:
            os._exit(status)
    os.close(writing)
    rest = [row for batch in batches for row in rows_of(batch)]
    assert rows_of(first) + rest == expected
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"done"
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_it_can_be_sent_to_processes(beton: Path, method: str) -> None:
    loader = small(Path(os.path.relpath(beton)), 3)
    next(iter(loader))
    expected = rows(pickle.loads(pickle.dumps(loader)))
    assert len(expected) == 9
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(rows, (loader,)).get(timeout=60) == expected


def test_torch_is_asked_for_only_when_needed(beton: Path) -> None:
    script = """
        import sys
        import fdconvert
        assert "torch" not in sys.modules and "numpy" not in sys.modules
        try:
            fdconvert.TorchIterable
        except ImportError as error:
            assert "torch" in str(error)
        else:
            assert "torch" in sys.modules
    """
    subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(script)], check=True)
    with pytest.raises(AttributeError):
        getattr(fdconvert, "Nothing")


class TestTorch:
    """What needs torch."""

    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        return pytest.importorskip("torch", reason="torch is not installed")

    @pytest.mark.parametrize("layout", ["nhwc", "nchw"])
    def test_tensors(self, torch: Any, beton: Path, layout: Any) -> None:
        for dtype, kind in [("u8", torch.uint8), ("f16", torch.float16), ("f32", torch.float32)]:
            options: dict[str, Any] = {"dtype": dtype, "layout": layout}
            (images, labels), *_ = small(beton, output="torch", **options)
            (expected, classes), *_ = small(beton, **options)
            assert images.dtype == kind and labels.dtype == torch.int64
            np.testing.assert_array_equal(images.numpy(), expected)
            np.testing.assert_array_equal(labels.numpy(), classes)
        batch = next(small(beton, output="torch").batches())
        assert batch.valid.dtype == torch.bool and batch.samples.dtype == torch.int64

    def test_tensors_hold_their_memory(self, torch: Any, beton: Path) -> None:
        loader = small(beton, 1, output="torch", prefetch=1)
        first, second = (images for images, _ in [next(it) for it in [iter(loader)] * 2])
        assert loader.stats()["batches_kept"] == 2
        part = first[:, :4]
        del first, second
        gc.collect()
        assert loader.stats()["batches_kept"] == 1
        assert part.shape == (1, 4, 32, 3)
        del part
        gc.collect()
        assert loader.stats()["batches_kept"] == 0

    def test_out_and_pinned(self, torch: Any, beton: Path) -> None:
        out = torch.zeros(4, 32, 32, 3, dtype=torch.float16)
        for images, _ in small(beton, output="torch", dtype="f16", out=out):
            assert images.data_ptr() == out.data_ptr()
        if torch.cuda.is_available():
            for images, labels in small(beton, output="torch", pin_memory=True):
                assert images.is_pinned() and labels.is_pinned()
            return
        loader = small(beton, output="torch", pin_memory=True)
        with pytest.warns(RuntimeWarning, match="pin_memory"):
            assert len(list(loader)) == 3
        assert len(list(loader)) == 3

    def test_data_loader(self, torch: Any, beton: Path) -> None:
        def samples(loader: Any) -> list[bytes]:
            return [images.numpy().tobytes() for images, _ in loader]

        def make() -> fdconvert.TorchIterable:
            return fdconvert.TorchIterable(beton, 4, seed=7, threads=2, size=32)

        dataset = make()
        loader = torch.utils.data.DataLoader(dataset, batch_size=None)
        assert isinstance(dataset, torch.utils.data.IterableDataset)
        assert len(loader) == len(dataset) == 3
        first, second = samples(loader), samples(loader)
        assert first == [images.tobytes() for images, _ in small(beton)]
        assert first != second
        dataset.set_epoch(0)
        batches = iter(loader)
        next(batches)
        again = make()
        again.load_state_dict(dataset.state_dict())
        assert samples(again) == first[1:]
        assert samples(pickle.loads(pickle.dumps(dataset))) == first[1:]
        with pytest.raises(fdconvert.UsageError, match="num_workers"):
            list(torch.utils.data.DataLoader(make(), batch_size=None, num_workers=1))
        with pytest.raises(fdconvert.UsageError, match="output"):
            fdconvert.TorchIterable(beton, output="numpy")


def test_a_keeper_is_told(beton: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Keeping every batch stops the loader for good; after ten seconds it says so."""
    loader = small(beton, 1, prefetch=1)
    batches = iter(loader)
    kept = [next(batches), next(batches)]
    release: Callable[[], None] = kept.clear
    timer = threading.Timer(11, release)
    timer.start()
    next(batches)
    assert [str(it.message) for it in recwarn if "prefetch" in str(it.message)]
    assert [it.filename for it in recwarn if "prefetch" in str(it.message)] == [__file__]


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
        rows(small(mixed, cache_bytes=60_000, shuffle=False))
    with pytest.raises(fdconvert.UsageError, match="access"):
        small(mixed, access="none")
