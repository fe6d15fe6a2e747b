"""The same program again, and programs that are stopped or forked."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_samples import contents

import fdconvert

FORMATS = ["beton", "parquet", "folder", "wds", "mds", "mixed"]
SCHEMA = {"image": "image", "label": ["a", "b"]}
COMPLETE = "was complete already"


def rows(n: int = 12, first: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    images = rng.integers(0, 256, (n, 16, 16, 3), dtype=np.uint8)
    return [{"image": image, "label": (i + first) % 2} for i, image in enumerate(images)]


def options_of(format: str) -> dict[str, Any]:
    options: dict[str, Any] = {"format": format, "encode": "raw" if format == "beton" else "png"}
    return options | ({"ratio": "0.5"} if format == "mixed" else {})


def write(out: Path, samples: list[dict[str, Any]], format: str, how: str) -> None:
    options: dict[str, Any] = {"schema": SCHEMA, **options_of(format)}
    if format in ("wds", "mds"):
        options["shard_count"] = 5
    if how == "sequence":
        fdconvert.pack(samples, out, **options)
        return
    ways: dict[str, dict[str, Any]] = {
        "shuffle": {"shuffle": True},
        "split": {"split": {"train": 0.5, "val": 0.5}},
    }
    more = ways.get(how, {})
    with fdconvert.Writer(out, **options, **more) as writer:
        for number, sample in enumerate(samples):
            writer.write(sample, key=f"k{number}" if how == "keys" else None)


@pytest.mark.parametrize("how", ["stream", "keys", "shuffle", "split", "sequence"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_program_given_again_ends_well(format: str, how: str, tmp_path: Path) -> None:
    out = tmp_path / f"x.{format}"
    write(out, rows(), format, how)
    whole = contents(tmp_path)
    with pytest.warns(RuntimeWarning, match=COMPLETE):
        write(out, rows(), format, how)
    assert contents(tmp_path) == whole
    # Other samples, and another number of them.
    for others in (rows(first=1), rows(9)):
        with pytest.raises(fdconvert.UsageError, match=r"exists|another|of a run with|are others"):
            write(out, others, format, how)
    # Other options are refused before the first sample, where the output has one name.
    if format != "folder" and how != "split":
        with pytest.raises(fdconvert.UsageError, match=r"exists|another"):
            fdconvert.Writer(out, **options_of(format), max_side=8)
    assert contents(tmp_path) == whole


@pytest.mark.parametrize("format", ["mds", "wds"])
def test_a_run_that_lacks_the_manifest_is_completed(format: str, tmp_path: Path) -> None:
    out = tmp_path / "x"
    write(out, rows(), format, "stream")
    whole = contents(out)
    (out / "fdconvert.json").unlink()
    with pytest.warns(RuntimeWarning, match=COMPLETE):
        write(out, rows(), format, "stream")
    assert contents(out) == whole


def test_a_fork_cannot_write(tmp_path: Path) -> None:
    for format in ("wds", "mds", "beton", "parquet"):
        out = tmp_path / format
        writer = fdconvert.Writer(out, schema=SCHEMA, **options_of(format))
        samples = rows()
        writer.write(samples[0])
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                signal.alarm(60)
                refused = 0
                for call in (lambda: writer.write(samples[1]), writer.close):
                    try:
                        call()
                    except fdconvert.UsageError as error:
                        refused += "forked off it" in str(error)
                status = int(refused != 2)
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
        for sample in samples[1:]:
            writer.write(sample)
        assert writer.close()["samples"] == len(samples)


def test_threads_share_a_writer(tmp_path: Path) -> None:
    for format in ("wds", "mds", "beton"):
        writer = fdconvert.Writer(
            tmp_path / format, schema={"id": "int", "image": "image"}, **options_of(format)
        )
        image = rows(1)[0]["image"]

        def write_some(first: int, writer: fdconvert.Writer = writer, image: Any = image) -> None:
            for number in range(first, first + 100):
                writer.write({"id": number, "image": image})

        threads = [threading.Thread(target=write_some, args=(at * 100,)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert writer.close()["samples"] == 400
        dataset = fdconvert.Dataset(tmp_path / format)
        assert sorted(sample["id"] for sample in dataset) == list(range(400))


def test_keys_of_a_sequence_are_taken(tmp_path: Path) -> None:
    named = [{"__key__": f"cat/{i}.png", **row} for i, row in enumerate(rows())]
    for format in FORMATS:
        out = tmp_path / format
        fdconvert.pack(named, out, schema=SCHEMA, **options_of(format))
        dataset = fdconvert.Dataset(out)
        keys = [dataset.key(index) for index in range(len(dataset))]
        assert keys == [sample["__key__"] for sample in named], format
    mixed = [rows()[0], *named[1:]]
    with pytest.raises(fdconvert.DataError, match="name all, or none"):
        fdconvert.pack(mixed, tmp_path / "some", format="wds", schema=SCHEMA, encode="png")


def test_nothing_to_pack_is_said(tmp_path: Path) -> None:
    nothings: list[Any] = [[], iter([]), {}]
    for nothing in nothings:
        for schema in (None, SCHEMA):
            with pytest.raises(fdconvert.UsageError, match="at least one sample"):
                fdconvert.pack(nothing, tmp_path / "x.wds", schema=schema)


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that accepts and says nothing."""
    server = socket.create_server(("127.0.0.1", 0))
    held = []

    def accept() -> None:
        while True:
            try:
                held.append(server.accept())
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}/x.beton"
    server.close()


@pytest.mark.parametrize(
    "call",
    [
        fdconvert.Dataset,
        lambda url: fdconvert.Loader(url, batch_size=2),
        lambda url: fdconvert.pack(url, "never.wds"),
        fdconvert.inspect,
    ],
)
def test_ctrl_c_does_not_wait_for_a_silent_server(
    call: Callable[[str], Any], silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # A shell lets what it starts in the background ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        call(silent)
    assert time.monotonic() - began < 5
    assert os.listdir(tmp_path) == []
