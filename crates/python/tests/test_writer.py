"""A ``Writer``: samples that wait in a temporary dataset, and what holds for all of them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_samples import contents

import fdconvert

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
    with fdconvert.Writer(path, **options) as writer:
        for row in rows:
            writer.write(row)
    return path


# Into a beton samples wait, into the others they are packed as they come.
OUTS = ["x.beton", "x.parquet", "x.mds"]


@pytest.mark.parametrize("format", ["beton", "wds", "mds", "mixed", "parquet"])
def test_samples_that_wait_are_those_of_a_sequence(format: str, tmp_path: Path) -> None:
    rows = large()
    options: dict[str, Any] = {"format": format, "shuffle": True, "seed": 3}
    fdconvert.pack(rows, tmp_path / "packed", **options)
    report = fdconvert.pack(iter(rows), tmp_path / "written", **options)
    assert report["samples"] == len(rows)
    difference = fdconvert.diff(tmp_path / "packed", tmp_path / "written")
    assert (difference["same"], difference["changed"]) == (len(rows), [])
    assert sorted(os.listdir(tmp_path)) == ["packed", "written"]


def test_samples_wait_beside_the_output_and_are_removed(tmp_path: Path) -> None:
    rows = large()
    waiting = tmp_path / "x.beton.samples.partial"
    for ends_by in ("close", "discard"):
        writer = fdconvert.Writer(tmp_path / "x.beton", overwrite=True)
        assert not waiting.exists()
        for row in rows:
            writer.write(row)
        assert waiting.is_dir()
        with pytest.raises(fdconvert.UsageError, match="is being written by another run"):
            other = fdconvert.Writer(tmp_path / "x.beton", overwrite=True)
            other.write(rows[0])
        getattr(writer, ends_by)()
        assert os.listdir(tmp_path) == ["x.beton"]


@pytest.mark.parametrize("waits", [False, True])
def test_samples_may_be_changed_afterwards(waits: bool, photos: Path, tmp_path: Path) -> None:
    file = min(photos.rglob("*.png")).read_bytes()
    rng = np.random.default_rng(1)
    with fdconvert.Writer(tmp_path / "x.mds", shuffle=waits) as writer:
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
    for sample in fdconvert.Dataset(tmp_path / "x.mds", decode=None):
        pixels = fdconvert.decode(sample["image"]["bytes"])
        sums = [int(np.asarray(pixels).sum()), sum(sample["raw"]), sum(sample["view"])]
        assert [*sums, float(np.asarray(sample["array"])[0])] == sample["sums"]
        assert sample["file"]["bytes"] == file


def test_the_bytes_of_a_sample_are_given_back(tmp_path: Path) -> None:
    content = bytes(1 << 20)
    without = sys.getrefcount(content)
    for closes in (True, False):
        writer = fdconvert.Writer(tmp_path / "x.beton", overwrite=True)
        for _ in range(60):
            writer.write({"raw": content})
        assert sys.getrefcount(content) == without
        if closes:
            writer.close()
        else:
            writer.discard()
        assert sys.getrefcount(content) == without


FULL = """
import os, resource, sys
import numpy as np
import fdconvert
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
os.chdir(sys.argv[1])
writer = fdconvert.Writer(os.path.abspath("x.beton"))
at = "write"
try:
    for _ in range(int(sys.argv[2])):
        writer.write(np.zeros((512, 512, 3), np.uint8))
    at = "close"
    writer.close()
except OSError as error:
    same = error.filename.startswith(os.path.abspath("x.beton.samples.partial"))
    print(at, type(error).__name__, error.errno, error.strerror, same, os.listdir())
try:
    writer.write(np.zeros((512, 512, 3), np.uint8))
except fdconvert.UsageError as error:
    print(error)
"""


@pytest.mark.parametrize("n", [100, 2])
def test_a_full_disk_is_an_error_of_write_or_close(n: int, tmp_path: Path) -> None:
    code = [sys.executable, "-c", FULL, str(tmp_path), str(n)]
    ended = subprocess.run(code, check=True, stdout=subprocess.PIPE, text=True)
    full, closed = ended.stdout.splitlines()
    at, rest = full.split(" ", 1)
    assert at == ("write" if n == 100 else "close")
    assert rest == "OSError 27 File too large True []"
    assert closed == "write: the writer is closed"


@pytest.mark.parametrize("out", OUTS)
def test_a_child_that_drops_the_writer_leaves_the_parent_alone(out: str, tmp_path: Path) -> None:
    rows = large()
    (tmp_path / "whole").mkdir()
    write(tmp_path / "whole" / out, rows)
    (tmp_path / "forked").mkdir()
    writer = fdconvert.Writer(tmp_path / "forked" / out)
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
    assert contents(tmp_path / "forked") == contents(tmp_path / "whole")


def test_what_is_left_by_an_exception_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> Iterator[dict[str, Any]]:
        yield from large()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fdconvert.pack(interrupted(), tmp_path / "x.beton")
    assert os.listdir(tmp_path) == []


KILLED = """
import os, signal, sys
import numpy as np
import fdconvert

def maybe_die(done, total):
    if done >= int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

rng = np.random.default_rng(0)
options = {"format": "wds", "encode": "png", "shard_count": 20, "threads": 1}
with fdconvert.Writer(sys.argv[1], progress=maybe_die, **options) as writer:
    for number in range(400):
        writer.write((rng.integers(0, 256, (160, 160, 3), dtype=np.uint8), number))
    report = writer.close()
print(report["samples"], report["resumed"])
"""

WAITING = KILLED.replace('"threads": 1}', '"threads": 1, "shuffle": True}')


def killed(code: str, out: Path, dies_after: int) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, str(out), str(dies_after)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("code", [KILLED, WAITING], ids=["as they come", "waiting"])
def test_a_killed_run_is_continued(code: str, tmp_path: Path) -> None:
    assert killed(code, tmp_path / "whole", 1000).stdout == "400 0\n"
    assert killed(code, tmp_path / "killed", 60).returncode == -signal.SIGKILL
    left = tmp_path / "killed.samples.partial"
    assert left.exists() == (code == WAITING)
    n_samples, resumed = killed(code, tmp_path / "killed", 1000).stdout.split()
    assert n_samples == "400" and int(resumed) >= 20
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert not left.exists()


def test_a_run_that_was_killed_while_samples_waited_begins_again(tmp_path: Path) -> None:
    dies = "        if number == 300:\n            os.kill(os.getpid(), signal.SIGKILL)\n"
    line = "        writer.write((rng"
    assert killed(WAITING.replace(line, dies + line), tmp_path / "x", 1000).returncode != 0
    assert os.listdir(tmp_path) == ["x.samples.partial"]
    assert killed(WAITING, tmp_path / "x", 1000).stdout == "400 0\n"
    assert os.listdir(tmp_path) == ["x"]


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
    writer = fdconvert.Writer(tmp_path / "x.beton")
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
