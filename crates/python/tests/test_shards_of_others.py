"""Tar shards whose samples differ, JSON that is none, and masks in a beton."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import fdconvert
import numpy as np
import pytest
from PIL import Image


def picture(form: str, mode: str = "RGB") -> bytes:
    shape = (24, 32, 3) if mode == "RGB" else (24, 32)
    image = Image.fromarray(np.full(shape, 3, np.uint8), mode)
    if mode == "P":
        image.putpalette(list(range(255, -1, -1)) * 3)
    out = io.BytesIO()
    image.save(out, form)
    return out.getvalue()


def write(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def test_json_that_is_none_is_an_error_of_fdconvert(tmp_path: Path) -> None:
    jpg = picture("JPEG")
    path = write(tmp_path / "a.tar", {"0.jpg": jpg, "0.json": b"[1]", "1.jpg": jpg, "1.json": b""})
    dataset = fdconvert.Dataset(path)
    assert dataset[0]["json"] == [1]
    with pytest.raises(fdconvert.Error, match=r"`1\.jpg`: field `json` is not JSON"):
        dataset[1]


def test_fields_are_left_out(tmp_path: Path) -> None:
    jpg = picture("JPEG")
    path = write(tmp_path / "a.tar", {"0.jpg": jpg, "1.jpg": jpg, "1.txt": b"one"})
    with pytest.raises(fdconvert.Error, match='to pack without the field: drop_fields="txt"'):
        fdconvert.pack(path, tmp_path / "a.beton")
    fdconvert.pack(path, tmp_path / "a.beton", drop_fields=["txt"])
    assert len(fdconvert.Dataset(tmp_path / "a.beton")) == 2
    assert [*fdconvert.Dataset(tmp_path / "a.beton")[1]] == ["image"]


def test_fields_of_a_program_are_left_out(tmp_path: Path) -> None:
    samples = [{"image": picture("JPEG"), "note": "a"}, {"image": picture("JPEG"), "note": "b"}]
    fdconvert.pack(samples, tmp_path / "a.wds", drop_fields="note")
    assert [*fdconvert.Dataset(tmp_path / "a.wds")[1]] == ["image"]


def test_masks_in_a_beton_have_their_values(tmp_path: Path) -> None:
    schema = {"image": "image", "mask": "mask"}
    samples = [{"image": picture("JPEG"), "mask": picture("PNG", "P")} for _ in range(4)]
    fdconvert.pack(samples, tmp_path / "a.beton", schema=schema)
    loader = fdconvert.Loader(
        tmp_path / "a.beton", batch_size=4, label=None, masks=["mask"]
    )
    for _images, _labels, fields in loader:
        assert np.unique(np.asarray(fields["mask"])).tolist() == [3]
