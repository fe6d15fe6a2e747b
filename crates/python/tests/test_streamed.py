"""A ``Writer`` that is told how many samples will come: it packs them as they come."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samples
from test_samples import contents
from test_writer import KILLED, LINUX, spool_bytes

import fdconvert

FORMATS = ["beton", "wds", "mds", "parquet"]


def mixed(n: int) -> list[dict[str, Any]]:
    """Samples of all sizes, one in ten of a megabyte."""
    rng = np.random.default_rng(3)
    return [
        {
            "image": rng.integers(0, 256, (9 + at % 7, 20, 3), dtype=np.uint8),
            "raw": rng.bytes(1_000_000 if at % 10 == 3 else at),
            "text": f"text {at}",
            "label": at % 5,
        }
        for at in range(n)
    ]


def write(path: Path, rows: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    with fdconvert.Writer(path, **options) as writer:
        for row in rows:
            writer.write(row)
        assert len(writer) == len(rows)
        return writer.close()


def work_threads() -> int:
    """Threads of this process that pack; one may end while they are counted."""
    n_threads = 0
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            n_threads += Path(f"/proc/self/task/{task}/comm").read_text() == "fdconvert\n"
    return n_threads


def check_threads_end() -> None:
    """Those of a pool are not waited for, and end by themselves."""
    ends = time.monotonic() + 30
    while LINUX and work_threads() > 0:
        assert time.monotonic() < ends
        time.sleep(0.01)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("n", [1, 2, 64, 65, 66, 300])
def test_the_samples_are_those_of_a_spool(format: str, n: int, tmp_path: Path) -> None:
    rows = mixed(n)
    options = {"format": format, "encode": "jpeg" if format == "beton" else "png"}
    write(tmp_path / "spooled", rows, **options)
    report = write(tmp_path / "streamed", rows, n_samples=n, **options)
    assert (report["samples"], report["planned"], report["resumed"]) == (n, n, 0)
    difference = fdconvert.diff(tmp_path / "spooled", tmp_path / "streamed")
    assert (difference["same"], difference["changed"]) == (n, [])
    assert fdconvert.verify(tmp_path / "streamed", deep=True)["problems"] == []


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_do_not_depend_on_threads_or_buffers(format: str, tmp_path: Path) -> None:
    rows, written = mixed(300), []
    options = {"format": format, "encode": "jpeg" if format == "beton" else "png"}
    if format in ("wds", "mds"):
        # The sizes of the first samples decide.
        options["shard_size"] = "20kB"
    for number, how in enumerate([{"threads": 1}, {"threads": 4}, {"threads": 2, "buffer": 1}]):
        written.append(tmp_path / f"set-{number}")
        write(written[-1], rows, n_samples=len(rows), **options, **how)
    assert contents(written[0]) == contents(written[1]) == contents(written[2])
    if format in ("wds", "mds"):
        assert len([name for name in contents(written[0]) if name.endswith((".tar", ".mds"))]) > 10


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_nothing_waits_in_a_file_and_no_output_is_there_before_close(tmp_path: Path) -> None:
    rows, before = mixed(300), spool_bytes()
    writer = fdconvert.Writer(tmp_path / "x.beton", n_samples=len(rows))
    for row in rows:
        writer.write(row)
    assert spool_bytes() == before and work_threads() > 0
    assert not (tmp_path / "x.beton").exists()
    writer.close()
    assert os.listdir(tmp_path) == ["x.beton"]
    check_threads_end()


def test_what_is_being_packed_is_bounded(tmp_path: Path) -> None:
    content = bytes(1 << 20)
    without = sys.getrefcount(content)
    writer = fdconvert.Writer(tmp_path / "x.beton", n_samples=400, threads=1)
    for _ in range(399):
        writer.write({"raw": content})
        # The first ones, those read ahead, and those that wait for the thread that writes.
        assert sys.getrefcount(content) - without < 80
    writer.discard()
    assert sys.getrefcount(content) == without and os.listdir(tmp_path) == []


def test_it_is_bounded_where_the_first_samples_are_small(tmp_path: Path) -> None:
    content, rng = bytes(4 << 20), np.random.default_rng(8)
    # Packing them takes longer than writing.
    image = rng.integers(0, 256, (700, 700, 3), dtype=np.uint8)
    without = sys.getrefcount(content)
    options: dict[str, Any] = {"format": "wds", "encode": "png", "threads": 1}
    writer = fdconvert.Writer(tmp_path / "set", n_samples=1000, **options)
    for _ in range(64):
        writer.write({"image": image[:1, :1], "raw": b""})
    for _ in range(60):
        writer.write({"image": image, "raw": content})
        assert sys.getrefcount(content) - without < 25
    writer.discard()
    assert sys.getrefcount(content) == without


@pytest.mark.parametrize("n_promised", [10, 99, 101, 400])
@pytest.mark.parametrize("named", [False, True])
def test_another_number_of_samples_is_refused(n_promised: int, named: bool, tmp_path: Path) -> None:
    rows = mixed(100)
    if named:
        rows = [{"__key__": f"{at}.png"} | row for at, row in enumerate(rows)]
    with pytest.raises(fdconvert.UsageError, match="n_samples: ") as raised:
        write(tmp_path / "x.beton", rows, n_samples=n_promised)
    if n_promised < 100:
        assert f"n_samples: {n_promised} samples were to come, and are there" in str(raised.value)
    else:
        assert f"100 samples were written, and {n_promised} were to come" in str(raised.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("at", [0, 3, 70, 299])
def test_samples_that_do_not_fit_are_skipped_or_refused(at: int, tmp_path: Path) -> None:
    rows = mixed(300)
    rows[at] = rows[at] | {"label": "five"}
    schema = {"image": "image", "raw": "bytes", "text": "text", "label": "int"}
    options: dict[str, Any] = {"schema": schema, "n_samples": 300, "encode": "jpeg"}
    report = write(tmp_path / "skipped.beton", rows, on_error="skip", **options)
    assert (report["samples"], [it["index"] for it in report["skipped"]]) == (299, [at])
    assert "field `label`: expected an integer" in report["skipped"][0]["reason"]
    # Names end in what is stored, whichever sample is the first good one.
    assert fdconvert.Dataset(tmp_path / "skipped.beton").key(150).endswith(".jpg")
    with fdconvert.Writer(tmp_path / "x.beton", **options) as writer:
        for row in rows:
            if row["label"] == "five":
                with pytest.raises(fdconvert.DataError, match=f"{at:08}.*field `label`"):
                    writer.write(row)
                row = row | {"label": 5}
            writer.write(row)
        assert writer.close()["samples"] == 300


@pytest.mark.parametrize("at", [1, 100, 299])
def test_an_image_that_cannot_be_packed_ends_it_or_is_left_out(
    at: int, photos: Path, tmp_path: Path
) -> None:
    good = min(photos.rglob("*.png")).read_bytes()
    rows = [{"image": good[: len(good) // 3] if number == at else good} for number in range(300)]
    options: dict[str, Any] = {"n_samples": 300, "encode": "jpeg"}
    report = write(tmp_path / "skipped.beton", rows, on_error="skip", **options)
    assert (report["samples"], [it["index"] for it in report["skipped"]]) == (299, [at])
    writer = fdconvert.Writer(tmp_path / "x.beton", **options)
    with pytest.raises(fdconvert.DataError, match=f"{at:08}.jpg"):
        for row in rows:
            writer.write(row)
        writer.close()
    with pytest.raises(fdconvert.UsageError, match="the writer is closed"):
        writer.write(rows[0])
    assert os.listdir(tmp_path) == ["skipped.beton"]


def test_what_arranges_or_names_samples_waits_as_before(tmp_path: Path) -> None:
    rows = mixed(100)
    cases: dict[str, dict[str, Any]] = {
        "shuffle": {"shuffle": True, "seed": 2},
        "split": {"split": {"train": 0.9, "val": 0.1}},
        "where": {"where": "label == 2"},
        "dedup": {"dedup": "exact"},
        "sample": {"sample": "10%"},
        "select": {"select": "3..50"},
        "ratio": {"format": "mixed", "ratio": 0.5, "jpeg_quality": 90},
    }
    for name, options in cases.items():
        options = {"format": "wds"} | options
        (tmp_path / name).mkdir()
        write(tmp_path / name / "without", rows, **options)
        write(tmp_path / name / "with", rows, n_samples=100, **options)
        assert contents(tmp_path / name / "with") == contents(tmp_path / name / "without"), name
    named = [{"__key__": f"cats/{at}.png"} | row for at, row in enumerate(rows)]
    write(tmp_path / "named-without.beton", named)
    write(tmp_path / "named.beton", named, n_samples=100)
    assert (tmp_path / "named.beton").read_bytes() == (tmp_path / "named-without.beton").read_bytes()


def test_names_that_come_later_are_refused(tmp_path: Path) -> None:
    rows = mixed(100)
    with fdconvert.Writer(tmp_path / "x.beton", n_samples=100) as writer:
        for row in rows[:90]:
            writer.write(row)
        with pytest.raises(fdconvert.DataError, match="`late.png`: it has a name, and those before"):
            writer.write(rows[90], key="late.png")
        for row in rows[90:]:
            writer.write(row)
    assert len(fdconvert.Dataset(tmp_path / "x.beton")) == 100


def test_a_killed_run_is_continued(tmp_path: Path) -> None:
    code = KILLED.replace("progress=maybe_die", "n_samples=400, progress=maybe_die")
    assert code != KILLED

    def run(out: str, dies_after: int) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", code, str(tmp_path / out), "0", str(dies_after)]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True)

    assert run("whole", 1000).stdout == "400 0\n"
    assert run("killed", 60).returncode == -signal.SIGKILL
    n_samples, resumed = run("killed", 1000).stdout.split()
    assert n_samples == "400" and int(resumed) >= 20
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_an_exception_of_progress_stops_it(tmp_path: Path) -> None:
    def progress(done: int, total: int) -> None:
        assert total == 100_000
        raise LookupError

    writer = fdconvert.Writer(tmp_path / "x.beton", n_samples=100_000, progress=progress)
    row = {"image": np.zeros((64, 64, 3), np.uint8)}
    with pytest.raises(LookupError):
        for _ in range(99_999):
            writer.write(row)
    with pytest.raises(fdconvert.UsageError, match="the writer is closed"):
        writer.write(row)
    assert os.listdir(tmp_path) == []
    check_threads_end()


def test_only_the_process_that_began_goes_on(tmp_path: Path) -> None:
    rows = mixed(200)
    write(tmp_path / "whole.beton", rows, n_samples=200)
    writer = fdconvert.Writer(tmp_path / "x.beton", n_samples=200)
    for row in rows[:150]:
        writer.write(row)
    for ends_by in ("write", "close", "discard", "drop"):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                signal.alarm(60)
                if ends_by == "write":
                    writer.write(rows[150])
                elif ends_by == "close":
                    writer.close()
                elif ends_by == "discard":
                    writer.discard()
                    status = 0
                else:
                    del writer
                    status = 0
            except fdconvert.UsageError as error:
                status = int("forked off it" not in str(error))
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0, ends_by
    for row in rows[150:]:
        writer.write(row)
    writer.close()
    assert (tmp_path / "x.beton").read_bytes() == (tmp_path / "whole.beton").read_bytes()


def test_many_threads_may_write(tmp_path: Path) -> None:
    rows = mixed(200)
    writer = fdconvert.Writer(tmp_path / "x.beton", n_samples=200)
    lock = threading.Lock()

    def write_some(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            with lock:
                writer.write(row)

    threads = [threading.Thread(target=write_some, args=(rows[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.close()["samples"] == 200
    texts = [sample["text"] for sample in fdconvert.Dataset(tmp_path / "x.beton")]
    assert sorted(texts) == sorted(row["text"] for row in rows)


def test_numbers_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    for number in (-1, 1.5, "many"):
        with pytest.raises(fdconvert.UsageError, match=f"n_samples=.?{number}"):
            fdconvert.Writer(tmp_path / "x.beton", n_samples=number)  # type: ignore[arg-type]
    with pytest.raises(fdconvert.UsageError, match="0 samples were to come, and are there"):
        write(tmp_path / "x.beton", mixed(1), n_samples=0)
    images, _ = samples.cifar_like(3)
    with pytest.raises(fdconvert.UsageError, match="n_samples: it is for samples that come one"):
        fdconvert.pack(images, tmp_path / "x.beton", n_samples=3)
    rows = iter(mixed(70))
    assert fdconvert.pack(rows, tmp_path / "x.beton", n_samples=70)["samples"] == 70
