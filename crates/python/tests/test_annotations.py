"""Annotations of other tools: boxes are on their objects, whichever way a photo is turned."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import transforms as T
from loading import SMALL

Image = pytest.importorskip("PIL.Image")


def photo(path: Path, orientation: int) -> None:
    """200x100 as stored, white from x 40 to 120 and y 20 to 40."""
    pixels = np.full((100, 200, 3), 30, np.uint8)
    pixels[20:40, 40:120] = 255
    exif = Image.Exif()
    exif[0x112] = orientation
    file = BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=95, exif=exif)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(file.getvalue())


def coco(path: Path) -> None:
    corners = [40, 20, 120, 20, 120, 40, 40, 40]
    path.write_text(
        json.dumps({
            "images": [{"id": 1, "file_name": "0.jpg", "width": 200, "height": 100}],
            "categories": [{"id": 1, "name": "white"}],
            "annotations": [{
                "id": 1, "image_id": 1, "category_id": 1, "bbox": [40, 20, 80, 20],
                "segmentation": [corners], "keypoints": [40, 20, 2],
            }],
        })
    )


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("options", [{}, {"jpeg_quality": 90}])
def test_boxes_of_stored_photos_lie_on_their_objects(
    tmp_path: Path, orientation: int, options: dict[str, Any]
) -> None:
    photo(tmp_path / "images/0.jpg", orientation)
    coco(tmp_path / "a.json")
    out = tmp_path / "o.beton"
    fdconvert.pack(
        tmp_path / "images", out, labels=tmp_path / "a.json", boxes="stored", **options
    )
    for orient in (True, False):
        loader = fdconvert.Loader(
            out, batch_size=1, transform=[T.Letterbox(200)], label=None, objects="objects",
            orient=orient, output="numpy",
        )
        for batch in loader.batches():
            y, x = np.where(np.asarray(batch.images[0]).mean(axis=2) > 150)
            white = [x.min(), y.min(), x.max() + 1, y.max() + 1]
            objects = batch.fields["objects"]
            np.testing.assert_allclose(objects.boxes[0], white, atol=1)
            corners = np.asarray(objects.points)
            around = [*corners.min(axis=0), *corners.max(axis=0)]
            np.testing.assert_allclose(around, white, atol=1)


def test_objects_of_the_stored_photo_are_turned_by_the_loader(tmp_path: Path) -> None:
    """A document that a program made, of the size that the photo has before it is turned."""
    photo(tmp_path / "0.jpg", 6)
    objects = {"size": [200, 100], "bbox": [[40, 20, 80, 20]]}
    out = tmp_path / "o.wds"
    sample = {"image": (tmp_path / "0.jpg").read_bytes(), "objects": objects}
    fdconvert.pack([sample], out, schema={"image": "image", "objects": "json"})
    loader = fdconvert.Loader(
        out, batch_size=1, transform=[T.Letterbox(200)], label=None, objects="objects", output="numpy"
    )
    for batch in loader.batches():
        np.testing.assert_allclose(batch.fields["objects"].boxes[0], [110, 40, 130, 120])


def test_classes_are_a_list_of_names(tmp_path: Path) -> None:
    for name in ("val/dog/0.jpg", "val/cat/1.jpg"):
        (tmp_path / name).parent.mkdir(parents=True)
        photo(tmp_path / name, 1)
    out = tmp_path / "o.beton"
    fdconvert.pack(tmp_path / "val", out, classes=["dog", "cow", "cat"])
    dataset = fdconvert.Dataset(out)
    assert list(dataset.classes or []) == ["dog", "cow", "cat"]
    assert sorted(dataset[i]["label"] for i in range(2)) == [0, 2]
    with pytest.raises(fdconvert.UsageError, match="`cat` is a class of val"):
        fdconvert.pack(tmp_path / "val", tmp_path / "n.beton", classes=["dog"])


def test_columns_of_a_table_are_one_label(tmp_path: Path) -> None:
    for name in ("0.jpg", "1.jpg"):
        photo(tmp_path / "im" / name, 1)
    table = tmp_path / "t.csv"
    table.write_text("filename, cat, dog\n0.jpg, 1, 0\n1.jpg, 1, 1\n")
    out = tmp_path / "o.beton"
    fdconvert.pack(tmp_path / "im", out, labels=table, label_columns=["cat", "dog"])
    loader = fdconvert.Loader(
        out, batch_size=2, transform=SMALL, sampling=fdconvert.Sequential(), label="label", output="numpy"
    )
    for _, labels in loader:
        assert np.asarray(labels).tolist() == [[1, 0], [1, 1]]
