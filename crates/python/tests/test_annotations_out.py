"""Annotations in the layouts of other tools, judged by the libraries that own these layouts."""

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import fdconvert

Image = pytest.importorskip("PIL.Image")
coco_api = pytest.importorskip("pycocotools.coco")
coco_mask = pytest.importorskip("pycocotools.mask")

SIZES = [(64, 48), (48, 64), (50, 37)]
#: Within a thousandth of a pixel.
CLOSE = 1e-3
POINTS = ["nose", "left_eye", "right_eye"]


def documents(n: int, seed: int = 1) -> dict[str, Any]:
    """Random COCO annotations of ``n`` images, of every kind that COCO has."""
    draw = random.Random(seed)
    categories: list[dict[str, Any]] = [
        {"id": 3 * number + 2, "name": name, "supercategory": "thing"}
        for number, name in enumerate(["person", "cat, or dog", "bed", "unused", 'a "b" & <c>'])
    ]
    categories[0] |= {"keypoints": POINTS, "skeleton": [[1, 2], [1, 3]]}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number in range(n):
        width, height = SIZES[number % len(SIZES)]
        images.append({
            "id": 10 * number + 5, "file_name": f"{number % 7}/{number:05}.jpg",
            "width": width, "height": height,
        })
        for _ in range(draw.choice([0, 1, 1, 2, 3, 9])):
            left, top = draw.randrange(0, width - 9), draw.randrange(0, height - 9)
            right, bottom = draw.randrange(left + 4, width), draw.randrange(top + 4, height)
            offset = draw.choice([0, 0.25, 0.5])
            box = [left + offset, top + offset, right - left - offset, bottom - top - offset]
            category = draw.choice([0, 1, 2, 4])
            entry = {
                "id": 100000 - len(annotations), "image_id": images[-1]["id"],
                "category_id": categories[category]["id"], "bbox": box,
                "area": round(box[2] * box[3] / 2, 3), "iscrowd": 0,
            }
            kind = draw.choice(["box", "polygon", "polygons", "mask", "crowd"])
            x, y, w, h = box
            triangle = [x, y, x + w, y, x + w / 2, y + h]
            if kind == "polygon":
                entry["segmentation"] = [triangle]
            elif kind == "polygons":
                entry["segmentation"] = [triangle, [x, y + h, x + w, y + h, x + w, y + h / 2]]
            elif kind in ("mask", "crowd"):
                mask = np.zeros((height, width), np.uint8, order="F")
                mask[top:bottom, left:right] = 1
                mask[top : top + 2, left : left + 2] = 0
                runs = coco_mask.encode(mask)
                entry["segmentation"] = {"size": [height, width], "counts": runs["counts"].decode()}
                entry["bbox"] = [float(side) for side in coco_mask.toBbox(runs)]
                entry["area"] = int(coco_mask.area(runs))
                entry["iscrowd"] = int(kind == "crowd")
            if category == 0 and draw.random() < 0.7:
                points = [[x + w / 2, y + h / 2, draw.choice([0, 1, 2])] for _ in POINTS]
                points = [point if point[2] else [0, 0, 0] for point in points]
                entry["keypoints"] = [value for point in points for value in point]
                entry["num_keypoints"] = sum(point[2] > 0 for point in points)
            annotations.append(entry)
    return {"images": images, "annotations": annotations, "categories": categories}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    """1000 images in a folder, and the file of their annotations."""
    root = tmp_path_factory.mktemp("source")
    document = documents(1000)
    made: dict[tuple[int, int], bytes] = {}
    for image in document["images"]:
        size = (image["width"], image["height"])
        path = root / "images" / image["file_name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if size not in made:
            Image.new("RGB", size, (90, 40, 10)).save(path, quality=50)
            made[size] = path.read_bytes()
        path.write_bytes(made[size])
    labels = root / "instances.json"
    labels.write_text(json.dumps(document))
    return root / "images", labels, document


def converted(source: tuple[Path, Path, Any], out: Path, to: str, **options: Any) -> list[str]:
    """Writes a layout, and returns the remarks of the report."""
    report = fdconvert.convert(source[0], out, to, labels=source[1], **options)
    assert report["samples"] == len(source[2]["images"]) and not report["skipped"]
    remarks: list[str] = report["remarks"]
    return remarks


def names(document: dict[str, Any]) -> dict[int, str]:
    return {category["id"]: category["name"] for category in document["categories"]}


def boxes(document: dict[str, Any], crowds: bool = True) -> dict[str, list[tuple[Any, ...]]]:
    """The boxes of each image with their categories, by the name of the image."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    files = {image["id"]: Path(image["file_name"]).stem for image in document["images"]}
    for name in files.values():
        found[name] = []
    for entry in document["annotations"]:
        if crowds or not entry["iscrowd"]:
            name = names(document)[entry["category_id"]]
            found[files[entry["image_id"]]].append((name, *entry["bbox"]))
    return found


def same(one: dict[str, list[tuple[Any, ...]]], other: dict[str, list[tuple[Any, ...]]]) -> None:
    assert one.keys() == other.keys()
    for name, expected in one.items():
        found = other[name]
        assert [box[0] for box in found] == [box[0] for box in expected], name
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a[1:], b[1:], atol=CLOSE, err_msg=name)


def test_coco_is_the_same_for_pycocotools(source: tuple[Path, Path, Any], tmp_path: Path) -> None:
    from pycocotools.cocoeval import COCOeval

    assert converted(source, tmp_path / "out", "coco") == []
    file = tmp_path / "out/annotations/instances.json"
    old, new = coco_api.COCO(str(source[1])), coco_api.COCO(str(file))
    assert old.imgs == new.imgs and old.cats == new.cats
    assert old.anns.keys() == new.anns.keys()
    for number, entry in old.anns.items():
        assert new.anns[number] == entry
        if "segmentation" in entry:
            assert (old.annToMask(entry) == new.annToMask(new.anns[number])).all()
    # Boxes as detections of themselves.
    results = [
        {key: entry[key] for key in ("image_id", "category_id", "bbox")} | {"score": 1.0}
        for entry in new.dataset["annotations"]
        if not entry["iscrowd"]
    ]
    evaluation = COCOeval(old, new.loadRes(results), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    assert evaluation.stats[0] == pytest.approx(1.0)
    # Through a packed dataset, from which it is written again.
    fdconvert.pack(source[0], tmp_path / "o.wds", labels=source[1])
    fdconvert.convert(tmp_path / "o.wds", tmp_path / "again", "coco", images="none")
    again = json.loads((tmp_path / "again/annotations/instances.json").read_text())
    assert again["annotations"] == new.dataset["annotations"]
    assert again["categories"] == new.dataset["categories"]


@pytest.mark.parametrize("to", ["yolo", "voc", "csv", "jsonl"])
def test_boxes_come_back_from_every_layout(
    source: tuple[Path, Path, Any], tmp_path: Path, to: str
) -> None:
    remarks = converted(source, tmp_path / "out", to)
    labels = {"yolo": "out/data.yaml", "csv": "out/labels.csv"}.get(to, "out")
    fdconvert.convert(
        tmp_path / "out", tmp_path / "back", "coco", labels=tmp_path / labels, images="link",
        no_split_folders=True,
    )
    back = json.loads((tmp_path / "back/annotations/instances.json").read_text())
    same(boxes(source[2], crowds=to != "yolo"), boxes(back))
    text = "\n".join(remarks)
    n_crowds = sum(entry["iscrowd"] for entry in source[2]["annotations"])
    n_polygons = sum(isinstance(it.get("segmentation"), list) for it in source[2]["annotations"])
    n_masks = sum(isinstance(it.get("segmentation"), dict) for it in source[2]["annotations"])
    counted = {
        "yolo": [f"{n_crowds} crowds", f"polygons of {n_polygons}"],
        "voc": [f"{n_crowds} crowds are marked", f"run lengths of {n_masks}"],
        "csv": [f"polygons of {n_polygons}", f"run lengths of {n_masks}"],
        "jsonl": [f"run lengths of {n_masks} objects became polygons"],
    }
    assert all(part in text for part in counted[to]), text


@pytest.mark.parametrize("task", ["detect", "segment", "pose", "obb"])
def test_yolo_is_read_by_ultralytics(
    source: tuple[Path, Path, Any], tmp_path: Path, task: str
) -> None:
    pytest.importorskip("ultralytics")
    from ultralytics.data.dataset import YOLODataset
    from ultralytics.data.utils import check_det_dataset

    converted(source, tmp_path / "out", "yolo", task=task)
    data = check_det_dataset(str(tmp_path / "out/data.yaml"), autodownload=False)
    assert list(data["names"].values()) == [it["name"] for it in source[2]["categories"]]
    dataset = YOLODataset(
        img_path=data["train"], data=data, task=task, augment=False, imgsz=64, batch_size=1
    )
    assert len(dataset.labels) == len(source[2]["images"])
    expected = boxes(source[2], crowds=False)
    for label in dataset.labels:
        width, height = label["shape"][1], label["shape"][0]
        wanted = expected[Path(label["im_file"]).stem]
        # Ultralytics takes equal lines once, and sorts them then.
        found = sorted(int(number) for number in label["cls"][:, 0])
        assert found == sorted(list(data["names"].values()).index(name) for name, *_ in wanted)
        if task in ("detect", "pose"):
            middle = np.array([[x + w / 2, y + h / 2, w, h] for _, x, y, w, h in wanted])
            shares = label["bboxes"] * [width, height, width, height]
            for box in middle:
                assert np.abs(shares - box).max(axis=1).min() < 0.01
        if task == "pose" and len(wanted):
            assert label["keypoints"].shape[1:] == (len(POINTS), 3)
        if task in ("segment", "obb"):
            assert len(label["segments"]) == len(wanted)


def test_segments_cover_the_masks_of_coco(source: tuple[Path, Path, Any], tmp_path: Path) -> None:
    converted(source, tmp_path / "out", "yolo", task="segment", images="none")
    old = coco_api.COCO(str(source[1]))
    for image in source[2]["images"][:300]:
        lines = (tmp_path / "out/labels" / image["file_name"]).with_suffix(".txt").read_text()
        entries = [it for it in old.imgToAnns[image["id"]] if not it["iscrowd"]]
        for line, entry in zip(lines.splitlines(), entries, strict=True):
            if "segmentation" not in entry:
                continue
            width, height = image["width"], image["height"]
            points = np.array(line.split()[1:], float).reshape(-1, 2) * [width, height]
            runs = coco_mask.frPyObjects([points.ravel().tolist()], height, width)
            mask, wanted = coco_mask.decode(coco_mask.merge(runs)), old.annToMask(entry)
            # Lines between the parts of an object are a pixel wide at most.
            assert (mask != wanted).sum() <= 0.1 * wanted.sum() + width, entry


def test_voc_is_read_by_torchvision(source: tuple[Path, Path, Any], tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    (tmp_path / "VOCdevkit").mkdir()
    converted(source, tmp_path / "VOCdevkit/VOC2012", "voc")
    dataset = datasets.VOCDetection(str(tmp_path), year="2012", image_set="trainval")
    assert len(dataset) == len(source[2]["images"])
    expected = boxes(source[2])
    for image, target in dataset:
        annotation = target["annotation"]
        size = annotation["size"]
        assert (int(size["width"]), int(size["height"])) == image.size
        wanted = expected[Path(annotation["filename"]).stem]
        found = []
        for item in annotation.get("object", []):
            left, top, right, bottom = (
                float(item["bndbox"][side]) for side in ("xmin", "ymin", "xmax", "ymax")
            )
            # The rule of Detectron2.
            found.append((item["name"], left - 1, top - 1, right - left + 1, bottom - top + 1))
        same({"": wanted}, {"": found})
    file = next((tmp_path / "VOCdevkit/VOC2012/Annotations").rglob("*.xml"))
    assert ElementTree.parse(file).getroot().tag == "annotation"


def test_imagefolder_is_read_by_datasets(source: tuple[Path, Path, Any], tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    converted(source, tmp_path / "out", "jsonl")
    cache = str(tmp_path / "cache")
    loaded = datasets.load_dataset("imagefolder", data_dir=str(tmp_path / "out"), cache_dir=cache)
    assert len(loaded["train"]) == len(source[2]["images"])
    expected = boxes(source[2])
    files = {image["id"]: image["file_name"] for image in source[2]["images"]}
    for row in loaded["train"]:
        wanted = expected[Path(files[row["image_id"]]).stem]
        objects = row["objects"]
        pairs = zip(objects["category_name"], objects["bbox"], strict=True)
        same({"": wanted}, {"": [(name, *box) for name, box in pairs]})
        assert tuple(objects["size"]) == row["image"].size


def test_categories_are_mapped_and_sources_merged(
    source: tuple[Path, Path, Any], tmp_path: Path
) -> None:
    converted(
        source, tmp_path / "out", "coco", images="none",
        map_labels='"cat, or dog",bed=indoor; *=drop', drop_crowd=True, min_box=8,
    )
    file = json.loads((tmp_path / "out/annotations/instances.json").read_text())
    assert [category["name"] for category in file["categories"]] == ["indoor"]
    kept = [
        entry
        for entry in source[2]["annotations"]
        if names(source[2])[entry["category_id"]] in ("cat, or dog", "bed")
        and not entry["iscrowd"]
        and min(entry["bbox"][2:]) >= 8
    ]
    assert {entry["id"] for entry in file["annotations"]} == {entry["id"] for entry in kept}
    report = fdconvert.convert(
        source[0], tmp_path / "crowded", "coco", labels=source[1], images="none",
        where='count(category == "bed") >= 2',
    )
    beds = [entry["image_id"] for entry in source[2]["annotations"] if entry["category_id"] == 8]
    assert report["samples"] == len({image for image in beds if beds.count(image) >= 2})
