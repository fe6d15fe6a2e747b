"""Samples that a ``Writer`` packs as they come, into formats that count them last."""

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_samples import contents
from test_writer import KILLED, LINUX, killed

import fdconvert

FORMATS = ["wds", "mds", "parquet"]


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


def how(format: str, shard_size: str) -> dict[str, Any]:
    """Options of that format, several shards of one that has such."""
    sizes = {} if format == "parquet" else {"shard_size": shard_size}
    return {"format": format, "encode": "png", **sizes}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 66, 300])
def test_the_samples_are_those_of_a_sequence(format: str, n: int, tmp_path: Path) -> None:
    rows = mixed(n)
    options = how(format, "300kB")
    report = write(tmp_path / "any", rows, **options)
    assert (report["samples"], report["planned"], report["resumed"]) == (n, n, 0)
    assert (report["left_out"], report["splits"][0]["samples"]) == (0, n)
    fdconvert.pack(rows, tmp_path / "sequence", **options)
    difference = fdconvert.diff(tmp_path / "sequence", tmp_path / "any")
    assert (difference["same"], difference["changed"]) == (n, [])
    assert fdconvert.verify(tmp_path / "any", deep=True)["problems"] == []


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_do_not_depend_on_threads_or_buffers(format: str, tmp_path: Path) -> None:
    rows, written = mixed(300), []
    ways = [{"threads": 1}, {"threads": 4}, {"threads": 2, "buffer": 1}]
    for number, way in enumerate(ways):
        written.append(tmp_path / f"set-{number}")
        write(written[-1], rows, **how(format, "20kB"), **way)
    assert contents(written[0]) == contents(written[1]) == contents(written[2])


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
@pytest.mark.parametrize("format", FORMATS)
def test_no_sample_waits_and_no_output_is_there_before_close(format: str, tmp_path: Path) -> None:
    writer = fdconvert.Writer(tmp_path / "set", **how(format, "64MiB"))
    for row in mixed(300):
        writer.write(row)
    assert work_threads() > 0 and not (tmp_path / "set.samples.partial").exists()
    with pytest.raises((fdconvert.Error, FileNotFoundError)):
        fdconvert.Dataset(tmp_path / "set")
    writer.close()
    assert len(fdconvert.Dataset(tmp_path / "set")) == 300
    check_threads_end()


def test_what_is_being_packed_is_bounded(tmp_path: Path) -> None:
    content = bytes(1 << 20)
    without = sys.getrefcount(content)
    writer = fdconvert.Writer(tmp_path / "x.parquet", threads=1)
    for _ in range(399):
        writer.write({"raw": content})
        # With those of a row group.
        assert sys.getrefcount(content) - without < 160
    writer.discard()
    assert sys.getrefcount(content) == without and os.listdir(tmp_path) == []


def test_it_is_bounded_where_the_first_samples_are_small(tmp_path: Path) -> None:
    content, rng = bytes(4 << 20), np.random.default_rng(8)
    # Packing them takes longer than writing.
    image = rng.integers(0, 256, (700, 700, 3), dtype=np.uint8)
    without = sys.getrefcount(content)
    options: dict[str, Any] = {"format": "wds", "encode": "png", "threads": 1}
    writer = fdconvert.Writer(tmp_path / "set", **options)
    for _ in range(64):
        writer.write({"image": image[:1, :1], "raw": b""})
    for _ in range(60):
        writer.write({"image": image, "raw": content})
        assert sys.getrefcount(content) - without < 25
    writer.discard()
    assert sys.getrefcount(content) == without


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_what_needs_the_number_waits(tmp_path: Path) -> None:
    rows = mixed(100)
    cases: dict[str, dict[str, Any]] = {
        "compact": {"format": "beton", "compact": True},
        "FFCV's layout": {"format": "beton", "compat": "ffcv", "encode": "jpeg"},
        "mixed": {"format": "mixed", "ratio": 0.5, "jpeg_quality": 90},
        "shards": {"format": "wds", "shards": 3},
        "multiple": {"format": "wds", "shard_size": "20kB", "shards_multiple_of": 4},
        "shuffle": {"format": "wds", "shuffle": True},
        "overwrite": {"format": "wds", "overwrite": True},
        "beton": {"format": "beton"},
        "split": {"format": "wds", "split": {"train": 0.9, "val": 0.1}},
        "where": {"format": "wds", "where": "label < 9"},
    }
    for name, options in cases.items():
        writer = fdconvert.Writer(tmp_path / name, **options)
        for row in rows:
            writer.write(row)
        assert work_threads() == 0, name
        assert (tmp_path / f"{name}.samples.partial").is_dir(), name
        assert writer.close()["samples"] == 100, name
        check_threads_end()
    assert len(list((tmp_path / "shards").glob("*.tar"))) == 3


def test_names_that_come_later_are_refused(tmp_path: Path) -> None:
    rows = mixed(100)
    with fdconvert.Writer(tmp_path / "x.parquet") as writer:
        for row in rows[:90]:
            writer.write(row)
        with pytest.raises(fdconvert.DataError, match="`late.png`: it has a name, and those before"):
            writer.write(rows[90], key="late.png")
        for row in rows[90:]:
            writer.write(row)
    assert len(fdconvert.Dataset(tmp_path / "x.parquet")) == 100


def test_a_killed_run_is_not_continued_by_fewer_samples(tmp_path: Path) -> None:
    assert killed(KILLED, tmp_path / "set", 120).returncode == -signal.SIGKILL
    fewer = KILLED.replace("range(400)", "range(80)")
    refused = killed(fewer, tmp_path / "set", 1000)
    assert "samples there, and these are others; to replace them: overwrite=True" in refused.stderr
    n_samples, resumed = killed(KILLED, tmp_path / "set", 1000).stdout.split()
    assert n_samples == "400" and int(resumed) >= 80


def test_an_exception_leaves_no_dataset(tmp_path: Path) -> None:
    rows = mixed(300)
    for format in FORMATS:
        out = tmp_path / format
        with pytest.raises(LookupError):
            with fdconvert.Writer(out, **how(format, "64MiB")) as writer:
                for row in rows:
                    writer.write(row)
                raise LookupError
        with pytest.raises((fdconvert.Error, FileNotFoundError)):
            fdconvert.Dataset(out)
        assert not any("partial" in name for name in contents(out)) if out.is_dir() else True
    check_threads_end()


def test_progress_tells_how_many_there_are_so_far(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with fdconvert.Writer(
        tmp_path / "set", format="wds", encode="png", progress=lambda *n: told.append(n)
    ) as writer:
        for row in mixed(600):
            writer.write(row)
    assert told[-1] == (600, 600)
    assert all(done <= total <= 600 for done, total in told)


def test_an_exception_of_progress_stops_it(tmp_path: Path) -> None:
    def progress(done: int, total: int) -> None:
        raise LookupError

    writer = fdconvert.Writer(tmp_path / "x.parquet", progress=progress)
    row = {"image": np.zeros((64, 64, 3), np.uint8)}
    with pytest.raises(LookupError):
        for _ in range(99_999):
            writer.write(row)
    with pytest.raises(fdconvert.UsageError, match="the writer is closed"):
        writer.write(row)
    assert os.listdir(tmp_path) == []
    check_threads_end()


@pytest.mark.parametrize("at", [0, 3, 70, 299])
def test_samples_that_do_not_fit_are_skipped_or_refused(at: int, tmp_path: Path) -> None:
    rows = mixed(300)
    rows[at] = rows[at] | {"label": "five"}
    schema = {"image": "image", "raw": "bytes", "text": "text", "label": "int"}
    options: dict[str, Any] = {"schema": schema, "encode": "jpeg"}
    report = write(tmp_path / "skipped.parquet", rows, on_error="skip", **options)
    assert (report["samples"], [it["index"] for it in report["skipped"]]) == (299, [at])
    assert "field `label`: expected an integer" in report["skipped"][0]["reason"]
    # Names end in what is stored, whichever sample is the first good one.
    assert fdconvert.Dataset(tmp_path / "skipped.parquet").key(150).endswith(".jpg")
    with fdconvert.Writer(tmp_path / "x.parquet", **options) as writer:
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
    options: dict[str, Any] = {"encode": "jpeg"}
    report = write(tmp_path / "skipped.parquet", rows, on_error="skip", **options)
    assert (report["samples"], [it["index"] for it in report["skipped"]]) == (299, [at])
    writer = fdconvert.Writer(tmp_path / "x.parquet", **options)
    with pytest.raises(fdconvert.DataError, match=f"{at:08}.jpg"):
        for row in rows:
            writer.write(row)
        writer.close()
    with pytest.raises(fdconvert.UsageError, match="the writer is closed"):
        writer.write(rows[0])
    assert os.listdir(tmp_path) == ["skipped.parquet"]


def test_only_the_process_that_began_goes_on(tmp_path: Path) -> None:
    rows = mixed(200)
    write(tmp_path / "whole.parquet", rows)
    writer = fdconvert.Writer(tmp_path / "x.parquet")
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
    assert (tmp_path / "x.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_many_threads_may_write(tmp_path: Path) -> None:
    rows = mixed(200)
    writer = fdconvert.Writer(tmp_path / "x.parquet")
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
    texts = [sample["text"] for sample in fdconvert.Dataset(tmp_path / "x.parquet")]
    assert sorted(texts) == sorted(row["text"] for row in rows)
