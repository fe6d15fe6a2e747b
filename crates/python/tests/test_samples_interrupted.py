"""Runs over samples of a program that are killed or interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_samples import contents

SLOW = """
import signal, sys, time
import numpy as np
import fdconvert
signal.signal(signal.SIGINT, signal.default_int_handler)

class Slow:
    def __init__(self, last):
        self.last = last
    def __len__(self):
        return 400
    def __getitem__(self, index):
        if index >= self.last and index < 399:
            print("busy", flush=True)
            time.sleep(60)
        return np.full((64, 64, 3), index % 256, np.uint8), index

try:
    out, last = sys.argv[1], int(sys.argv[2])
    options = {"format": sys.argv[3], "encode": sys.argv[4], "threads": int(sys.argv[5])}
    if options["format"] == "wds":
        options["shard_count"] = 50
    elif options["format"] == "beton":
        options["page_size"] = "2MiB"
    report = fdconvert.pack(Slow(last), out, **options)
    print("resumed", report["resumed"], report["samples"])
except KeyboardInterrupt:
    print("interrupted")
"""


def slow(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SLOW, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def is_second_there(out: Path) -> bool:
    partial = out.with_name(f"{out.name}.partial")
    if partial.is_file():
        # The first page is the header's.
        return partial.stat().st_size >= 3 * PAGE_BYTES
    return (out / "train-000001.tar").is_file()


PAGE_BYTES = 2 << 20


@pytest.mark.parametrize(("format", "encode"), [("beton", "keep"), ("wds", "png")])
def test_a_killed_run_is_continued_to_the_same_bytes(
    format: str, encode: str, tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with slow(whole, 400, format, encode, 1) as run:
        assert run.communicate()[0] == "resumed 0 400\n"
    with slow(killed, 380, format, encode, 4) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "busy\n"
        # What was fetched before is written meanwhile. When the second page or shard is there, the
        # first one has its record.
        until = time.monotonic() + 60
        while not is_second_there(killed):
            assert time.monotonic() < until
            time.sleep(0.05)
        run.send_signal(signal.SIGKILL)
        run.communicate()
    with slow(killed, 400, format, encode, 2) as run:
        resumed = run.communicate()[0].split()
    assert resumed[0] == "resumed" and int(resumed[1]) > 0 and resumed[2] == "400"
    assert contents(killed) == contents(whole)


def test_ctrl_c_stops_a_sample_that_takes_long(tmp_path: Path) -> None:
    with slow(tmp_path / "x.beton", 10, "beton", "keep", 2) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "busy\n"
        run.send_signal(signal.SIGINT)
        assert run.communicate(timeout=30)[0] == "interrupted\n"
    assert os.listdir(tmp_path) == []
