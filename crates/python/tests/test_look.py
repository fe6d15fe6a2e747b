"""Numbers, contact sheets and duplicates as functions, and what notebooks show."""

import base64
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Dataset, Loader
from fdconvert import transforms as T

PICTURE = re.compile(r'src="data:image/png;base64,([^"]+)"')


def pictures(html: str) -> list[np.ndarray]:
    return [np.asarray(fdconvert.decode(base64.b64decode(it))) for it in PICTURE.findall(html)]


def files_of(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]


def test_mean_and_deviation_are_those_of_all_pixels(photos: Path, tmp_path: Path) -> None:
    files = files_of(photos)
    arrays = [np.asarray(fdconvert.decode(file.read_bytes()), np.float64) / 255 for file in files]
    pixels = np.concatenate([array.reshape(-1, 3) for array in arrays])
    page = tmp_path / "page.html"
    seen: list[tuple[int, int]] = []
    found = fdconvert.stats(
        photos, pixels=True, html=page, progress=lambda *it: seen.append(it)
    )
    assert found["document"] == "fdconvert-stats" and found["samples"] == len(files)
    assert found["pixels"]["pixels"] == len(pixels)
    np.testing.assert_allclose(found["pixels"]["mean"], pixels.mean(0), atol=1e-9)
    np.testing.assert_allclose(found["pixels"]["std"], pixels.std(0), atol=1e-9)
    assert "<svg" in page.read_text(encoding="utf-8") and seen
    assert fdconvert.stats(photos)["pixels"] is None
    with pytest.raises(fdconvert.UsageError, match="exists"):
        fdconvert.stats(photos, html=page)


def test_sheets_are_pictures(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    made = fdconvert.sheet(photos, out, count=4, side=32)
    assert (made["rows"], made["columns"], len(made["samples"])) == (2, 2, 4)
    assert np.asarray(fdconvert.decode(out.read_bytes())).shape == (2 * 32 + 12, 2 * 32 + 12, 3)
    with pytest.raises(fdconvert.UsageError, match="overwrite"):
        fdconvert.sheet(photos, out)


def test_duplicates_are_found_in_one_dataset_and_in_several(photos: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(photos, copy)
    file = files_of(copy)[0]
    shutil.copy(file, file.with_stem("again"))
    keys = tmp_path / "keep.txt"
    found = fdconvert.find_duplicates(copy, keys=keys)
    assert [len(group["samples"]) for group in found["groups"]] == [2]
    kept = keys.read_text(encoding="utf-8").splitlines()
    assert found["kept_keys"] == len(kept) == found["samples"][0] - 1
    both = fdconvert.find_duplicates([photos, copy], near=True, distance=4)
    assert both["leaks"] >= found["samples"][0] - 1 and both["distance"] == 4
    with pytest.raises(fdconvert.UsageError, match="distance"):
        fdconvert.find_duplicates(copy, near=True, distance=16)


def test_notebooks_show_the_first_samples(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "<b>" / "cats & dogs"
    folder.mkdir(parents=True)
    for file in files_of(photos)[:3]:
        shutil.copy(file, folder)
    (folder / "broken.png").write_bytes(b"nothing")
    html = Dataset(tmp_path / "<b>")._repr_html_()
    assert len(pictures(html)) == 3
    assert "<b>" not in html and "cats &amp; dogs" in html and "broken.png" in html
    sides = [max(picture.shape) for picture in pictures(html)]
    assert sides == [96] * 3
    many = Dataset(photos)._repr_html_()
    assert len(pictures(many)) == 8 and len(many) < 400_000


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_notebooks_show_batches(beton: Path, layout: Any, dtype: str) -> None:
    form = [T.Resize((64, 64)), T.ToDtype(dtype), T.ToLayout(layout)]
    with Loader(beton, 5, transform=form, sampling=fdconvert.Sequential()) as loader:
        batch = next(iter(loader.batches()))
        html = batch._repr_html_()
        shown = pictures(html)
        assert [picture.shape for picture in shown] == [(64, 64, 3)] * 5
        array = np.asarray(batch.images)[0]
        pixels = array if layout == "nhwc" else array.transpose(1, 2, 0)
        expected = np.asarray(pixels, np.float64)
        if dtype != "uint8":
            least, most = expected.min(), expected.max()
            expected = (expected - least) * 255 / (most - least)
        np.testing.assert_allclose(np.asarray(shown[0], np.float64), expected, atol=1)
        assert f"sample {int(batch.samples[0])}" in html
        # Shapes and types that are no pictures are told by their numbers alone.
        assert pictures(replace(batch, images=np.zeros((5, 7)))._repr_html_()) == []
