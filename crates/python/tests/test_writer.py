"""Where the samples of a ``Writer`` wait: in memory, in its file, or some here and some there."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samples
from test_samples import contents

import fdconvert

ALL_IN_MEMORY, SOME_IN_MEMORY, NONE_IN_MEMORY = "256MiB", 1_200_000, 0
BUDGETS: list[int | str] = [ALL_IN_MEMORY, SOME_IN_MEMORY, NONE_IN_MEMORY]

LINUX = sys.platform == "linux"


def large(n: int = 60) -> list[dict[str, Any]]:
    """Samples of 50 kB and more, and of less than 4 KiB, in turn."""
    rng = np.random.default_rng(5)
    sides = [16, 130, 128, 31]
    return [
        {
            "image": rng.integers(0, 256, (sides[at % 4], sides[at % 4], 3), dtype=np.uint8),
            "raw": rng.bytes(at * 1000),
            "text": "ä" * (at * 100),
            "label": at,
        }
        for at in range(n)
    ]


def write(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    """The rows, written by a writer of the default budget."""
    with fdconvert.Writer(path, **options) as writer:
        for row in rows:
            writer.write(row)
    return path


def spool_bytes() -> list[int]:
    """Sizes of the files without a name that this process has open."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            status = os.stat(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            found.append(status.st_size)
    return found


def spool_threads() -> int:
    """Threads of this process that write into such files."""
    tasks = os.listdir("/proc/self/task")
    return [Path(f"/proc/self/task/{task}/comm").read_text() for task in tasks].count("spool\n")


@pytest.mark.parametrize("format", ["beton", "wds", "mds", "mixed", "parquet"])
def test_the_output_does_not_depend_on_the_budget(format: str, tmp_path: Path) -> None:
    rows = large()
    options: dict[str, Any] = {"format": format, "shuffle": True, "seed": 3}
    fdconvert.pack(rows, tmp_path / "packed", **options)
    written = []
    for number, budget in enumerate(BUDGETS):
        written.append(tmp_path / f"written-{number}")
        report = fdconvert.pack(iter(rows), written[-1], memory_budget=budget, **options)
        assert report["samples"] == len(rows)
    assert contents(written[0]) == contents(written[1]) == contents(written[2])
    difference = fdconvert.diff(tmp_path / "packed", written[0])
    assert (difference["same"], difference["changed"]) == (len(rows), [])


@pytest.mark.parametrize("budget", BUDGETS)
def test_samples_may_be_changed_afterwards(budget: int | str, photos: Path, tmp_path: Path) -> None:
    file = min(photos.rglob("*.png")).read_bytes()
    rng = np.random.default_rng(1)
    with fdconvert.Writer(tmp_path / "set", format="mds", memory_budget=budget) as writer:
        for side in (20, 200):
            pixels = np.zeros((side, side, 3), np.uint8)
            raw, view, encoded = bytearray(side * 99), bytearray(side * 99), bytearray(file)
            array = np.zeros((2000,), np.float32)
            for _ in range(5):
                pixels[:] = rng.integers(0, 256, pixels.shape)
                raw[:], view[:], array[:] = rng.bytes(len(raw)), rng.bytes(len(raw)), rng.random()
                encoded[:] = file
                sample = {
                    "image": pixels, "file": encoded, "raw": raw, "view": memoryview(view),
                    "array": array, "sums": [int(pixels.sum()), sum(raw), sum(view), float(array[0])],
                }  # fmt: skip
                writer.write(sample)
                pixels[:], raw[:], view[:], array[:] = 0, bytes(len(raw)), bytes(len(raw)), 0
                encoded[:] = bytes(len(encoded))
    for sample in fdconvert.Dataset(tmp_path / "set", decode=None):
        pixels = fdconvert.decode(sample["image"]["bytes"])
        sums = [int(np.asarray(pixels).sum()), sum(sample["raw"]), sum(sample["view"])]
        assert [*sums, float(np.asarray(sample["array"])[0])] == sample["sums"]
        assert sample["file"]["bytes"] == file


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_what_fits_is_not_written_and_the_rest_is() -> None:
    before = spool_bytes()

    def after_writing(budget: int | str) -> int:
        writer = fdconvert.Writer("nowhere.beton", memory_budget=budget)
        content = bytes(1 << 20)
        for _ in range(90):
            writer.write({"raw": content})
        sizes = spool_bytes()
        # A thread writes what does not fit.
        assert len(sizes) == len(before) + 1 and spool_threads() == (budget != ALL_IN_MEMORY)
        writer.discard()
        assert (spool_bytes(), spool_threads()) == (before, 0)
        return sum(sizes) - sum(before)

    assert after_writing(ALL_IN_MEMORY) == 0
    # Up to 8 MiB, and what is not handed over yet, may still be on their way.
    assert 91 << 20 >= after_writing(0) >= 80 << 20
    assert 62 << 20 >= after_writing("30MiB") >= 50 << 20
    assert not Path("nowhere.beton").exists()


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_bytes_of_a_sample_are_given_back(budget: int | str, tmp_path: Path) -> None:
    content = bytes(1 << 20)
    without = sys.getrefcount(content)
    for closes in (True, False):
        writer = fdconvert.Writer(tmp_path / "x.beton", memory_budget=budget)
        for _ in range(60):
            writer.write({"raw": content})
        # Those that wait for the thread.
        assert 0 <= sys.getrefcount(content) - without <= 10
        if closes:
            writer.close()
            os.unlink(tmp_path / "x.beton")
        else:
            writer.discard()
        assert sys.getrefcount(content) == without


FULL = """
import os, resource, sys
import numpy as np
import fdconvert
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
os.chdir(sys.argv[1])
writer = fdconvert.Writer(os.path.abspath("x.beton"), memory_budget=int(sys.argv[3]))
at = "write"
try:
    for _ in range(int(sys.argv[2])):
        writer.write(np.zeros((512, 512, 3), np.uint8))
    at = "close"
    writer.close()
except OSError as error:
    same = error.filename == os.getcwd()
    print(at, type(error).__name__, error.errno, error.strerror, same, os.listdir())
try:
    writer.write(np.zeros((512, 512, 3), np.uint8))
except fdconvert.UsageError as error:
    print(error)
"""


@pytest.mark.parametrize(("n", "budget"), [(100, 0), (2, 0), (100, 900_000)])
def test_a_full_disk_is_an_error_of_write_or_close(n: int, budget: int, tmp_path: Path) -> None:
    code = [sys.executable, "-c", FULL, str(tmp_path), str(n), str(budget)]
    ended = subprocess.run(code, check=True, stdout=subprocess.PIPE, text=True)
    full, closed = ended.stdout.splitlines()
    at, rest = full.split(" ", 1)
    # The thread that writes may be as fast as the loop.
    assert at in (["write"] if n == 100 else ["write", "close"])
    assert rest == "OSError 27 File too large True []"
    assert closed == "write: the writer is closed"


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_child_that_drops_the_writer_leaves_the_parent_alone(
    budget: int | str, tmp_path: Path
) -> None:
    rows = large()
    whole = write(tmp_path / "whole.beton", rows, memory_budget=budget)
    writer = fdconvert.Writer(tmp_path / "x.beton", memory_budget=budget)
    for row in rows[:50]:
        writer.write(row)
    for ends_by in ("drop", "discard", "exception"):
        pid = os.fork()
        if pid == 0:
            try:
                signal.alarm(60)
                if ends_by == "drop":
                    del writer
                elif ends_by == "discard":
                    writer.discard()
                else:
                    with writer:
                        raise LookupError
            except LookupError:
                pass
            finally:
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    for row in rows[50:]:
        writer.write(row)
    writer.close()
    assert (tmp_path / "x.beton").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_left_by_an_exception_leaves_nothing(budget: int | str, tmp_path: Path) -> None:
    def interrupted() -> Iterator[dict[str, Any]]:
        yield from large()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fdconvert.pack(interrupted(), tmp_path / "x.beton", memory_budget=budget)
    assert os.listdir(tmp_path) == []
    if LINUX:
        assert spool_threads() == 0


KILLED = """
import os, signal, sys
import numpy as np
import fdconvert

def maybe_die(done, total):
    if done >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

rng = np.random.default_rng(0)
options = {"format": "wds", "encode": "png", "shard_count": 20, "threads": 1}
with fdconvert.Writer(sys.argv[1], memory_budget=int(sys.argv[2]), progress=maybe_die, **options) as writer:
    for number in range(400):
        writer.write((rng.integers(0, 256, (160, 160, 3), dtype=np.uint8), number))
    report = writer.close()
print(report["samples"], report["resumed"])
"""


def test_a_killed_run_is_continued_with_another_budget(tmp_path: Path) -> None:
    def run(out: str, budget: int, dies_after: int) -> "subprocess.CompletedProcess[str]":
        code = [sys.executable, "-c", KILLED, str(tmp_path / out), str(budget), str(dies_after)]
        return subprocess.run(code, stdout=subprocess.PIPE, text=True)

    assert run("whole", 0, 1000).stdout == "400 0\n"
    assert run("killed", 1 << 30, 60).returncode == -signal.SIGKILL
    assert [name for name in os.listdir(tmp_path) if name not in ("whole", "killed")] == []
    n_samples, resumed = run("killed", 4 << 20, 1000).stdout.split()
    assert n_samples == "400" and int(resumed) >= 20
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_call_within_a_call_is_refused(tmp_path: Path) -> None:
    class Pixels:
        def __array__(self, *_: Any, **__: Any) -> Any:
            assert len(writer) == 1
            for call in (lambda: writer.write({"image": plain}), writer.close):
                with pytest.raises(fdconvert.UsageError, match="the writer is at work already"):
                    call()
            return plain

    plain = np.zeros((4, 4, 3), np.uint8)
    with fdconvert.Writer(tmp_path / "out", format="wds", schema={"image": "image"}) as writer:
        writer.write({"image": plain})
        writer.write({"image": Pixels()})
    assert len(fdconvert.Dataset(tmp_path / "out")) == 2


def test_many_threads_may_write(tmp_path: Path) -> None:
    rows = large(16)
    writer = fdconvert.Writer(tmp_path / "x.beton", memory_budget=100_000)
    writer.write(rows[0])
    lock = threading.Lock()

    def write_one(row: dict[str, Any]) -> None:
        with lock:
            writer.write(row)

    threads = [threading.Thread(target=write_one, args=(row,)) for row in rows[1:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.close()["samples"] == 16
    labels = [sample["label"] for sample in fdconvert.Dataset(tmp_path / "x.beton")]
    assert sorted(labels) == list(range(16))


def test_budgets_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    cases: list[tuple[int | str, str]] = [
        ("256", "has no unit"),
        ("much", "is not a size"),
        (-1, "memory_budget=-1"),
    ]
    for budget, why in cases:
        with pytest.raises(fdconvert.UsageError, match=why):
            fdconvert.Writer(tmp_path / "x.beton", memory_budget=budget)
    with pytest.raises(fdconvert.UsageError, match="memory_budget: it is for samples that come one"):
        fdconvert.pack(samples.cifar_like(3)[0], tmp_path / "x.beton", memory_budget=0)
