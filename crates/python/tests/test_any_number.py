"""A ``Writer`` that is not told how many samples will come, into formats that count them last."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_samples import contents
from test_streamed import check_threads_end, mixed, work_threads, write
from test_writer import KILLED, LINUX, spool_bytes

import fdconvert

FORMATS = ["beton", "wds", "mds", "parquet"]


def how(format: str, shard_size: str) -> dict[str, Any]:
    """Options of that format, several shards of one that has such."""
    encode = "jpeg" if format == "beton" else "png"
    sizes = {} if format in ("beton", "parquet") else {"shard_size": shard_size}
    return {"format": format, "encode": encode, **sizes}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 66, 300])
def test_the_samples_are_those_of_others(format: str, n: int, tmp_path: Path) -> None:
    rows = mixed(n)
    options = how(format, "300kB")
    report = write(tmp_path / "any", rows, **options)
    assert (report["samples"], report["planned"], report["resumed"]) == (n, n, 0)
    assert (report["left_out"], report["splits"][0]["samples"]) == (0, n)
    write(tmp_path / "spooled", rows, memory_budget=0, **options)
    told = write(tmp_path / "told", rows, n_samples=n, **options)
    for other in ("spooled", "told"):
        difference = fdconvert.diff(tmp_path / other, tmp_path / "any")
        assert (difference["same"], difference["changed"]) == (n, [])
    assert fdconvert.verify(tmp_path / "any", deep=True)["problems"] == []
    # The same shards, up to the records of what was known when they were planned.
    of = [(shard["samples"], shard["bytes"]) for shard in report["shards"]]
    assert of == [(shard["samples"], shard["bytes"]) for shard in told["shards"]]
    tars = {name: file for name, file in contents(tmp_path / "any").items() if ".tar" in name}
    assert all(contents(tmp_path / "told")[name] == file for name, file in tars.items())


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
def test_nothing_waits_in_a_file_and_no_output_is_there_before_close(
    format: str, tmp_path: Path
) -> None:
    rows, before = mixed(300), spool_bytes()
    writer = fdconvert.Writer(tmp_path / "set", **how(format, "64MiB"))
    for row in rows:
        writer.write(row)
    assert spool_bytes() == before and work_threads() > 0
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


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_what_needs_the_number_waits_as_before(tmp_path: Path) -> None:
    rows = mixed(100)
    cases: dict[str, dict[str, Any]] = {
        "compact": {"format": "beton", "compact": True},
        "FFCV's layout": {"format": "beton", "compat": "ffcv", "encode": "jpeg"},
        "mixed": {"format": "mixed", "ratio": 0.5, "jpeg_quality": 90},
        "shards": {"format": "wds", "shards": 3},
        "multiple": {"format": "wds", "shard_size": "20kB", "shards_multiple_of": 4},
        "shuffle": {"format": "wds", "shuffle": True},
        "overwrite": {"format": "wds", "overwrite": True},
        "budget": {"format": "wds", "memory_budget": 0},
    }
    for name, options in cases.items():
        writer = fdconvert.Writer(tmp_path / name, **options)
        for row in rows:
            writer.write(row)
        assert work_threads() == 0, name
        assert writer.close()["samples"] == 100, name
        check_threads_end()
    assert len(list((tmp_path / "shards").glob("*.tar"))) == 3


def test_the_data_of_a_beton_moves_behind_its_rows(tmp_path: Path) -> None:
    # Rows of eight kilobytes: there is room for some hundred in a page of two megabytes.
    names = [f"number{at}" for at in range(1000)]
    schema = {"image": "image"} | {name: "int" for name in names}
    image = np.full((24, 24, 3), 7, np.uint8)
    for n_samples in (None, 600):
        out = tmp_path / f"{n_samples}.beton"
        with fdconvert.Writer(
            out, schema=schema, page_size="2MiB", encode="jpeg", n_samples=n_samples
        ) as writer:
            for number in range(600):
                writer.write({"image": image} | dict.fromkeys(names, number))
    told, found = fdconvert.Dataset(tmp_path / "600.beton"), fdconvert.Dataset(tmp_path / "None.beton")
    assert (tmp_path / "None.beton").stat().st_size == (tmp_path / "600.beton").stat().st_size
    difference = fdconvert.diff(tmp_path / "600.beton", tmp_path / "None.beton")
    assert (difference["same"], difference["changed"]) == (600, [])
    assert fdconvert.verify(tmp_path / "None.beton", deep=True)["problems"] == []
    assert told[599]["number999"] == found[599]["number999"] == 599


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


def killed(code: str, out: Path, dies_after: int) -> "subprocess.CompletedProcess[str]":
    code = code.replace("memory_budget=int(sys.argv[2]), ", "")
    assert code != KILLED
    command = [sys.executable, "-c", code, str(out), "0", str(dies_after)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_killed_run_is_continued(tmp_path: Path) -> None:
    assert killed(KILLED, tmp_path / "whole", 1000).stdout == "400 0\n"
    assert killed(KILLED, tmp_path / "killed", 60).returncode == -signal.SIGKILL
    n_samples, resumed = killed(KILLED, tmp_path / "killed", 1000).stdout.split()
    assert n_samples == "400" and int(resumed) >= 20
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_killed_run_is_not_continued_by_fewer_samples(tmp_path: Path) -> None:
    assert killed(KILLED, tmp_path / "set", 120).returncode == -signal.SIGKILL
    fewer = KILLED.replace("range(400)", "range(80)")
    refused = killed(fewer, tmp_path / "set", 1000)
    assert "samples there, and these are others; replace them" in refused.stderr
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


@pytest.mark.parametrize("at", [0, 3, 70, 299])
def test_samples_that_do_not_fit_are_left_out(at: int, tmp_path: Path) -> None:
    rows = mixed(300)
    bad = {name: value for name, value in rows[at].items() if name != "text"}
    schema = {"image": "image", "raw": "bytes", "text": "text", "label": "int"}
    options: dict[str, Any] = {"format": "wds", "encode": "png", "on_error": "skip"}
    with fdconvert.Writer(tmp_path / "set", schema=schema, **options) as writer:
        for row in [*rows[:at], bad, *rows[at + 1 :]]:
            writer.write(row)
        report = writer.close()
    assert (report["samples"], len(report["skipped"])) == (299, 1)
    assert report["skipped"][0]["index"] == at
