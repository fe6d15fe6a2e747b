"""The commands as functions, and as ``python -m fdconvert``."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fdconvert

MODULE = [sys.executable, "-m", "fdconvert"]


def test_pack_reports_and_counts(photos: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    out = tmp_path / "small.beton"
    report = fdconvert.pack(
        photos,
        out,
        jpeg_quality=80,
        max_side=64,
        threads=2,
        page_size="2MiB",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert (report["document"], report["samples"], report["skipped"]) == (
        "fdconvert-packed",
        12,
        [],
    )
    assert report["params"]["quality"] == "80" and report["threads"] == 2
    assert seen[-1] == (12, 12)
    assert seen == sorted(set(seen))
    facts = fdconvert.inspect(out, samples=2)
    assert facts["samples"] == 12 and len(facts["first"]) == 2
    assert facts["provenance"]["params"]["max-side"] == "64"


def test_options_of_every_kind(photos: Path, tmp_path: Path) -> None:
    plan = fdconvert.pack(
        [photos, photos], tmp_path / "-x", format="wds", split={"train": 0.5, "val": 0.5},
        where='label in ["even", "odd"]', shuffle=True, seed=3, shard_count=3, dry_run=True,
    )  # fmt: skip
    assert plan["document"] == "fdconvert-plan" and plan["samples"] == 24
    assert not (tmp_path / "-x").exists()


def test_a_list_of_keys(photos: Path, tmp_path: Path) -> None:
    out, listed = tmp_path / "some.beton", tmp_path / "keys.txt"
    fdconvert.pack(photos, tmp_path / "all.beton", max_side=32)
    samples = fdconvert.inspect(tmp_path / "all.beton", samples=12)["first"]
    keys = [sample["key"] for sample in samples]
    listed.write_text(f"{keys[7]}\nno such key\n{keys[2]}\n")
    with pytest.raises(fdconvert.UsageError, match="remove it from the list"):
        fdconvert.pack(photos, out, keys=listed)
    listed.write_text(f"{keys[7]}\n{keys[2]}\n")
    report = fdconvert.pack(photos, out, keys=listed, max_side=32)
    assert report["samples"] == 2
    taken = fdconvert.inspect(out, samples=2)["first"]
    assert [sample["key"] for sample in taken] == [keys[2], keys[7]]


def test_a_name_like_an_option_is_a_name(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fdconvert.pack(str(photos), "--help.beton", max_side=32)
    assert fdconvert.verify("--help.beton")["problems"] == []


def test_diff_tells_what_changed(beton: Path, tmp_path: Path) -> None:
    smaller = tmp_path / "smaller.beton"
    fdconvert.pack(beton, smaller, sample="75%")
    found = fdconvert.diff(beton, smaller)
    assert (found["same"], found["changed"], found["only_in_second"]) == (9, [], [])
    assert len(found["only_in_first"]) == 3
    assert fdconvert.diff(beton, beton, pixels=True)["same"] == 12


def test_verify_finds_damage(beton: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    found = fdconvert.verify(
        beton, deep=True, progress=lambda done, total: seen.append((done, total))
    )
    assert found["deep"] and found["samples"] == 12 and found["problems"] == []
    assert seen[-1] == (12, 12)
    content = bytearray(beton.read_bytes())
    image = fdconvert.Dataset(beton).get(4)["image"]["bytes"]
    content[content.index(image) + len(image) // 2] ^= 1
    damaged = tmp_path / "damaged.beton"
    damaged.write_bytes(content)
    (problem,) = fdconvert.verify(damaged)["problems"]
    assert problem["index"] == 4 and problem["key"].startswith("even/")


def test_skipped_samples_are_in_the_report(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.png").write_bytes(next(photos.rglob("*.png")).read_bytes())
    (folder / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nnot much of a picture")
    with pytest.raises(fdconvert.DataError, match="bad.png"):
        fdconvert.pack(folder, tmp_path / "x.beton")
    report = fdconvert.pack(folder, tmp_path / "x.beton", on_error="skip")
    (skipped,) = report["skipped"]
    assert skipped["key"] == "bad.png" and report["samples"] == 1


def test_errors_have_classes(photos: Path, beton: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        fdconvert.pack(tmp_path / "missing", tmp_path / "x.beton")
    assert missing.value.filename == str(tmp_path / "missing")
    with pytest.raises(fdconvert.UsageError, match="overwrite"):
        fdconvert.pack(photos, beton)
    with pytest.raises(fdconvert.UsageError) as unknown:
        fdconvert.pack(photos, tmp_path / "x.beton", jpg_quality=90)
    assert "`jpg_quality`" in str(unknown.value) and "Usage" not in str(unknown.value)
    with pytest.raises(ValueError):
        fdconvert.pack(photos, tmp_path / "x.beton", jpeg_quality=1000)
    with pytest.raises(TypeError):
        fdconvert.pack(3, tmp_path / "x.beton")
    assert issubclass(fdconvert.UsageError, fdconvert.Error)
    assert issubclass(fdconvert.DataError, fdconvert.Error)
    again = pickle.loads(pickle.dumps(unknown.value))
    assert type(again) is fdconvert.UsageError and str(again) == str(unknown.value)
    assert os.listdir(tmp_path) == []


def test_an_exception_of_the_callback_stops_the_work(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fdconvert.pack(ENDLESS, tmp_path / "x.beton", jpeg_quality=90, progress=stop)
    assert os.listdir(tmp_path) == []


# Minutes of work, unless somebody stops it.
ENDLESS = "fractal:fractaldb?classes=4&instances=1000000"

PACK_FOREVER = f"""
import signal, sys, fdconvert
# A shell that started the tests in the background ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
shown = lambda done, total: done and print("busy", flush=True)
try:
    fdconvert.pack({ENDLESS!r}, sys.argv[1], jpeg_quality=90, progress=shown)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_stops_the_work_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PACK_FOREVER, str(tmp_path / "x.beton")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "busy\n"
        run.send_signal(signal.SIGINT)
        rest, _ = run.communicate(timeout=30)
    assert rest.splitlines()[-1] == "interrupted"
    assert run.returncode == 0 and os.listdir(tmp_path) == []


def test_ctrl_c_stops_the_command(tmp_path: Path) -> None:
    out = tmp_path / "x.beton"
    command = [*MODULE, "pack", ENDLESS, str(out), "--jpeg-quality", "90"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as run:
        until = time.monotonic() + 30
        while not os.listdir(tmp_path) and time.monotonic() < until:
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=30)
    assert run.returncode == 130 and b"stopping" in errors
    assert os.listdir(tmp_path) == []


def test_the_command_is_the_command(beton: Path, tmp_path: Path) -> None:
    def run(*args: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*MODULE, *map(str, args)], capture_output=True, text=True)

    version = run("--version")
    assert version.returncode == 0 and version.stdout == f"fdconvert {fdconvert.__version__}\n"
    assert "Usage: fdconvert " in run("--help").stdout
    assert run("verify", beton).stdout.startswith(f"{beton}: 12 samples")
    wrong = run("verify", tmp_path / "missing")
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: cannot open")
    assert run("verfy").returncode == 2
    (tmp_path / "cut.beton").write_bytes(beton.read_bytes()[:5000])
    assert run("verify", tmp_path / "cut.beton").returncode == 1
    script = Path(sys.executable).with_name("fdconvert")
    assert subprocess.check_output([script, "--version"], text=True) == version.stdout


def test_profile_finds_a_share_that_pack_takes(photos: Path, tmp_path: Path) -> None:
    found = fdconvert.profile(
        photos,
        target=tmp_path,
        threads=1,
        samples=4,
        runs=1,
        seconds=0.1,
        formats=["png", "bmp"],
        throttle_read="100MB/s",
        output=tmp_path / "profile.json",
    )
    assert found["document"] == "fdconvert-profile" and found["warnings"] == []
    share = found["solution"]["chosen"]["share"]
    assert 0 <= share <= 1
    out = tmp_path / "set"
    fdconvert.pack(photos, out, format="mixed", ratio=tmp_path / "profile.json")
    facts = fdconvert.inspect(out)
    assert facts["details"]["asked"] == str(share) or float(facts["details"]["asked"]) == share
