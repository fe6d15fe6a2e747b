"""Labels that are none, files that are cut, and messages that speak Python."""

import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Array, Dataset, Loader
from fdconvert import transforms as T
from loading import SMALL


@pytest.fixture(scope="module")
def regression(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photos with a number of float each, as for a regression, and another of int."""
    folder = tmp_path_factory.mktemp("regression")
    files = sorted(file.relative_to(photos) for file in photos.rglob("*.png"))
    lines = [f"{file},{number / 2},{number}" for number, file in enumerate(files)]
    (folder / "labels.csv").write_text("\n".join(["path,label,id", *lines]) + "\n")
    out = folder / "x.beton"
    fdconvert.pack(photos, out, labels=folder / "labels.csv", jpeg_quality=90, max_side=96)
    return out


def test_labels_are_never_invented(regression: Path, beton: Path) -> None:
    with pytest.raises(ValueError, match=r"label: .*`label` \(float\).*name `label` or `id`"):
        Loader(regression)
    named = Loader(regression, 12, label="id", output="numpy", sampling=fdconvert.Sequential())
    assert sorted(next(iter(named))[1].tolist()) == list(range(12))
    assert named.stats()["fields_left_out"] == ["label"]
    scored = Loader(regression, 12, label="label", output="numpy", sampling=fdconvert.Sequential())
    scores = next(iter(scored))[1]
    assert scores.dtype == np.float64 and sorted(scores * 2) == list(range(12))
    for path in [regression, beton]:
        loader = Loader(path, 4, label=None)
        batch = next(loader.batches())
        assert batch.labels is None and len(batch) == 4
        images, labels = next(iter(loader))
        assert images.shape == (4, 224, 224, 3) and labels is None
    with pytest.raises(ValueError, match="no label `class`"):
        Loader(beton, label="class")


def test_skipped_rows_have_no_label_of_their_own(photos: Path, tmp_path: Path) -> None:
    fdconvert.pack(photos, tmp_path / "x.beton", jpeg_quality=90, max_side=96)
    fdconvert.unpack(tmp_path / "x.beton", tmp_path / "files")
    victim = sorted((tmp_path / "files").rglob("*.jpg"))[8]
    victim.write_bytes(victim.read_bytes()[:400])
    batch = next(Loader(tmp_path / "files", 12, errors=fdconvert.Skip(), output="numpy").batches())
    assert batch.valid.sum() == 11 and batch.labels.min() == 0
    assert not batch.labels[~batch.valid].any()


CUT = """
    import faulthandler, os, sys
    faulthandler.enable()
    import fdconvert
    path = {path!r}
    files = [path] if os.path.isfile(path) else [
        os.path.join(path, name) for name in sorted(os.listdir(path))
        if name.endswith((".tar", ".mds"))
    ]
    dataset = fdconvert.Dataset(path)
    raw = fdconvert.Dataset(path, decode=None)
    whole = [sample["image"].tobytes() for sample in dataset]
    assert len(list(raw)) == 12
    in_order = fdconvert.Sequential()
    loaders = [fdconvert.Loader(path, 1, threads=2, errors=errors, sampling=in_order)
               for errors in [fdconvert.Skip(), fdconvert.Substitute(), "raise"]]
    expected = [next(loader.batches()).images.tobytes() for loader in loaders]
    for file in files:
        os.truncate(file, os.path.getsize(file) * 2 // 3)
    lost = 0
    for index in range(12):
        try:
            image = dataset[index]["image"].tobytes()
            assert image == whole[index]
            assert raw[index]["image"]["bytes"].strip(bytes(1))
        except (OSError, fdconvert.DataError) as error:
            lost += 1
            print(type(error).__name__, error)
    for loader, errors in zip(loaders, ["skip", "substitute", "raise"]):
        try:
            valid = sum(bool(batch.valid[0]) for batch in loader.batches())
            print(errors, valid, loader.stats()["failures"])
        except (OSError, fdconvert.DataError) as error:
            print(errors, type(error).__name__, error)
    pid = os.fork()
    if pid == 0:
        try:
            dataset[11]
            os._exit(1)
        except (OSError, fdconvert.DataError):
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    print("lost", lost)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system ends the process")
@pytest.mark.parametrize("format", ["wds", "mds", "beton"])
def test_a_cut_file_costs_samples_and_not_the_process(
    format: str, beton: Path, tmp_path: Path
) -> None:
    path = tmp_path / f"x.{format}"
    fdconvert.pack(beton, path, format=format)
    code = textwrap.dedent(CUT.format(path=str(path)))
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    lines = done.stdout.splitlines()
    lost = int(lines[-1].removeprefix("lost "))
    assert 0 < lost <= 12, lines
    assert any("while it was mapped" in line and "OSError" in line for line in lines), lines
    # A checksum may be the first to see the zeros behind the new end.
    raised = ("raise OSError", "raise DataError")
    assert any(line.startswith(raised) for line in lines), lines
    # The tables of a beton are at its end.
    if format != "beton":
        skipped = next(line for line in lines if line.startswith("skip "))
        assert lost < 12 and skipped == f"skip {12 - lost} {lost}", lines
        assert any(line.startswith("substitute 12 ") for line in lines), lines


def test_a_handler_may_be_forbidden(beton: Path, tmp_path: Path) -> None:
    code = f"import fdconvert; print(len(list(fdconvert.Dataset({str(beton)!r}))))"
    environment = os.environ | {"FDCONVERT_SIGBUS": "off"}
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, env=environment)
    assert done.stdout == b"12\n"


def test_errors_speak_python(beton: Path, photos: Path, tmp_path: Path) -> None:
    def said(use: Any, *args: Any, kind: type[Exception] = ValueError, **options: Any) -> str:
        with pytest.raises(kind) as raised:
            use(*args, **options)
        assert "--" not in str(raised.value), raised.value
        return str(raised.value)

    out = tmp_path / "x.beton"
    unknown = said(fdconvert.pack, photos, out, jpeg_qualty=90)
    assert unknown == "options: `jpeg_qualty` is unknown; did you mean `jpeg_quality`?"
    assert "`quality` is unknown" in said(fdconvert.pack, photos, out, quality=90)
    assert said(fdconvert.pack, photos, beton).endswith("exists; to replace it: overwrite=True")
    failures = said(fdconvert.pack, photos, out, max_failures=3)
    assert failures.startswith("max_failures: ")
    assert failures.endswith('; to leave bad samples out: on_error="skip"')
    assert "jpeg_quality=" in said(fdconvert.pack, photos, out, jpeg_quality=900)
    small = Dataset(beton, max_pixels=5)
    limited = said(small.__getitem__, 0, kind=fdconvert.DataError)
    assert limited.endswith("over the limit of 5; to raise it: max_pixels")
    assert said(Loader, beton, 0).startswith("batch_size: ")
    assert said(fdconvert.Ranks, 2, 2).startswith("Ranks.rank: ")
    missing = said(Dataset, "/no/such", kind=FileNotFoundError)
    assert missing == "[Errno 2] No such file or directory: '/no/such'"
    assert "[dataset[i] for i in positions]" in said(Dataset(beton).__getitem__, [0, 1], kind=TypeError)


def test_spellings_and_statistics(beton: Path) -> None:
    form = [*SMALL, T.ToDtype("float32"), T.ToLayout("NCHW")]  # type: ignore[arg-type]
    loader = Loader(beton, 4, transform=form, output="numpy")
    assert loader.stats()["verdict"] is None
    images, _ = next(iter(loader))
    assert images.shape == (4, 3, 32, 32) and images.dtype == np.float32
    assert loader.stats()["verdict"] in {"consumer-bound", "disk-bound", "decode-bound"}
    assert dir(fdconvert) == sorted(set(dir(fdconvert)))
    assert "TorchIterable" in dir(fdconvert) and "TYPE_CHECKING" not in dir(fdconvert)


def test_photos_are_turned_upright_when_asked_for(photos: Path, tmp_path: Path) -> None:
    fdconvert.pack(photos, tmp_path / "x.beton", jpeg_quality=90, max_side=96)
    fdconvert.unpack(tmp_path / "x.beton", tmp_path / "files")
    file = sorted((tmp_path / "files").rglob("*.jpg"))[0]
    tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"
    exif = b"Exif\0\0" + tiff
    jpeg = file.read_bytes()
    header = b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif
    file.write_bytes(jpeg[:2] + header + jpeg[2:])
    lying = np.asarray(Dataset(tmp_path / "files")[0]["image"])
    dataset = Dataset(tmp_path / "files", orient=True)
    np.testing.assert_array_equal(np.asarray(dataset[0]["image"]), np.rot90(lying, -1))
    assert dataset.__getnewargs_ex__()[1]["orient"] is True


def test_torch_makes_tensors_of_samples(
    beton: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for torch, of which ``default_collate`` asks a table by type."""
    torch = types.ModuleType("torch")
    torch.from_dlpack = np.from_dlpack  # type: ignore[attr-defined]
    torch.stack = np.stack  # type: ignore[attr-defined]
    collate = types.ModuleType("torch.utils.data._utils.collate")
    known: dict[type, Any] = {}
    collate.default_collate_fn_map = known  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, collate.__name__, collate)

    def crop(sample: dict[str, Any]) -> Array:
        return Array(np.asarray(sample["image"])[:8, :8].tobytes(), [8, 8, 3], "uint8")

    samples = Dataset(beton, transform=crop).__getitems__([0, 3, 5])
    batch = known[Array](samples, collate_fn_map=known)
    assert batch.shape == (3, 8, 8, 3)
    images = [Array(bytes(12), [2, 2, 3], "uint8"), Array(bytes(18), [2, 3, 3], "uint8")]
    with pytest.raises(TypeError, match=r"\(2, 2, 3\) and \(2, 3, 3\).*transform.*collate_fn"):
        known[Array](images, collate_fn_map=known)
