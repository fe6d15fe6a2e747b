"""Layouts of other tools, judged by the libraries that own them: every label, box and pixel."""

import csv
import json
import os
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import fdconvert

Image = pytest.importorskip("PIL.Image")


def photo(path: Path, seed: int, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> None:
    rng = np.random.default_rng(seed)
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rng.integers(0, 255, shape).astype(np.uint8)).save(path)


def packed(source: Path, out: Path, *splits: str, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """The samples of each split, in their order, with their keys."""
    fdconvert.pack(source, out, **options)
    dataset = fdconvert.Dataset(out)
    parts = {name: dataset.split(name) for name in splits} or {"": dataset}
    return {
        name: [{"__key__": part.key(at), **part.get(at)} for at in range(len(part))]
        for name, part in parts.items()
    }


def pixels(stored: dict[str, Any]) -> Any:
    """The pixels of an image as it is stored."""
    return np.asarray(Image.open(BytesIO(stored["bytes"])))


def test_cityscapes_as_torchvision_reads_it(tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    root = tmp_path / "cs"
    for split, city, n in [("train", "aachen", 0), ("train", "bonn", 1), ("val", "ulm", 2)]:
        stem = f"{city}_{n:06}_000019"
        photo(root / f"leftImg8bit/{split}/{city}/{stem}_leftImg8bit.png", n)
        photo(root / f"gtFine/{split}/{city}/{stem}_gtFine_labelIds.png", n + 9, mode="L")
    ours = packed(root, tmp_path / "o.wds", "train", "val")
    for split in ("train", "val"):
        theirs = datasets.Cityscapes(str(root), split=split, mode="fine", target_type="semantic")
        pairs = {Path(image).name: at for at, image in enumerate(theirs.images)}
        assert len(pairs) == len(ours[split])
        for sample in ours[split]:
            image, mask = theirs[pairs[Path(sample["__key__"]).name]]
            np.testing.assert_array_equal(pixels(sample["image"]), np.asarray(image))
            np.testing.assert_array_equal(pixels(sample["mask"]), np.asarray(mask))


def test_celeba_as_torchvision_reads_it(tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    root = tmp_path / "celeba"
    rng = np.random.default_rng(0)
    names = [f"attribute_{at}" for at in range(40)]
    flags = rng.integers(0, 2, (7, 40)) * 2 - 1
    files = [f"{at + 1:06}.jpg" for at in range(7)]
    for at, name in enumerate(files):
        photo(root / "img_align_celeba" / name, at)
    rows = [f"{name} " + " ".join(f"{it:2d}" for it in row) for name, row in zip(files, flags)]
    (root / "list_attr_celeba.txt").write_text("\n".join(["7", " ".join(names), *rows, ""]))
    parts = [1, 0, 2, 0, 0, 1, 2]
    lines = [f"{name} {part}" for name, part in zip(files, parts)]
    (root / "list_eval_partition.txt").write_text("\n".join(lines) + "\n")
    other = {
        "identity_CelebA.txt": [f"{name} 1" for name in files],
        "list_bbox_celeba.txt": ["7", "x_1 y_1 width height"] + [f"{name} 1 2 3 4" for name in files],
        "list_landmarks_align_celeba.txt": ["7", "a_x a_y"] + [f"{name} 1 2" for name in files],
    }
    for name, text in other.items():
        (root / name).write_text("\n".join(text) + "\n")
    monkey = pytest.MonkeyPatch()
    monkey.setattr(datasets.CelebA, "_check_integrity", lambda self: True)
    ours = packed(root, tmp_path / "o.wds", "train", "val", "test")
    for split, name in [("train", "train"), ("val", "valid"), ("test", "test")]:
        theirs = datasets.CelebA(str(tmp_path), split=name, target_type="attr")
        assert len(theirs) == len(ours[split])
        for at, sample in enumerate(ours[split]):
            assert Path(sample["__key__"]).name == theirs.filename[at]
            np.testing.assert_array_equal(np.asarray(sample["label"]), theirs.attr[at].numpy())
    monkey.undo()


def test_mnist_as_torchvision_reads_it(tmp_path: Path) -> None:
    mnist = pytest.importorskip("torchvision.datasets.mnist")
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for name, n in [("train", 7), ("t10k", 3)]:
        head = b"".join(it.to_bytes(4, "big") for it in (0x803, n, 28, 28))
        images = rng.integers(0, 255, (n, 28, 28)).astype(np.uint8)
        (raw / f"{name}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        labels = rng.integers(0, 10, n).astype(np.uint8)
        head = b"".join(it.to_bytes(4, "big") for it in (0x801, n))
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(head + labels.tobytes())
    ours = packed(tmp_path / "MNIST", tmp_path / "o.wds", "train", "test", encode="png")
    for split, train in [("train", True), ("test", False)]:
        theirs = mnist.MNIST(str(tmp_path), train=train)
        assert len(theirs) == len(ours[split])
        for sample, (image, label) in zip(ours[split], theirs):
            np.testing.assert_array_equal(pixels(sample["image"]), np.asarray(image))
            assert sample["label"] == label


@pytest.mark.parametrize("n_classes", [10, 100])
def test_cifar_as_tensorflow_datasets_reads_it(tmp_path: Path, n_classes: int) -> None:
    cifar = pytest.importorskip(
        "tensorflow_datasets.image_classification.cifar", exc_type=ImportError
    )
    is_ten = n_classes == 10
    root = tmp_path / ("cifar-10-batches-bin" if is_ten else "cifar-100-binary")
    root.mkdir()
    rng = np.random.default_rng(2)
    names = {"batches.meta": 10} if is_ten else {"coarse_label_names": 20, "fine_label_names": 100}
    for file, n in names.items():
        (root / f"{file}.txt").write_text("".join(f"{file} {at}\n" for at in range(n)) + "\n")
    files = {"data_batch_1": 3, "test_batch": 2} if is_ten else {"train": 3, "test": 2}
    for file, n in files.items():
        labels = [rng.integers(0, most, n) for most in names.values()]
        rows = np.column_stack([*labels, rng.integers(0, 255, (n, 3072))]).astype(np.uint8)
        (root / f"{file}.bin").write_bytes(rows.tobytes())
    ours = packed(root, tmp_path / "o.wds", "train", "test", encode="png")
    for split, file in zip(["train", "test"], files):
        with patch.object(cifar, "tf", files_alone()):
            theirs = list(cifar._load_data(root / f"{file}.bin", len(names)))
        assert len(ours[split]) == len(theirs)
        for sample, (labels, image) in zip(ours[split], theirs):
            np.testing.assert_array_equal(pixels(sample["image"]), image)
            fields = ["label"] if is_ten else ["coarse_label", "label"]
            assert [sample[field] for field in fields] == labels.tolist()


def files_alone() -> Any:
    """The part of TensorFlow that opens and lists files: the readers here need no more of it."""
    return SimpleNamespace(io=SimpleNamespace(gfile=SimpleNamespace(GFile=open, listdir=os.listdir)))


def test_scene_parsing_of_ade20k_as_tensorflow_datasets_reads_it(tmp_path: Path) -> None:
    builder = pytest.importorskip(
        "tensorflow_datasets.datasets.scene_parse150.scene_parse150_dataset_builder",
        exc_type=ImportError,
    )
    root = tmp_path / "ADEChallengeData2016"
    for split, short, n in [("training", "train", 3), ("validation", "val", 2)]:
        for at in range(n):
            name = f"ADE_{short}_{at:08}"
            photo(root / f"images/{split}/{name}.jpg", at)
            photo(root / f"annotations/{split}/{name}.png", at + 9, mode="L")
    ours = packed(root, tmp_path / "o.wds", "training", "validation")
    for split in ours:
        folders = (str(root / "images" / split), str(root / "annotations" / split))
        with patch.object(builder, "tf", files_alone()):
            theirs = dict(builder.Builder._generate_examples(None, *folders))
        assert len(ours[split]) == len(theirs)
        for sample in ours[split]:
            pair = theirs[Path(sample["__key__"]).stem]
            for field, other in [("image", "image"), ("mask", "annotation")]:
                expected = np.asarray(Image.open(pair[other]))
                np.testing.assert_array_equal(pixels(sample[field]), expected)


def test_lvis_as_its_own_library_reads_it(tmp_path: Path) -> None:
    lvis = pytest.importorskip("lvis", exc_type=ImportError)
    root, draw = tmp_path / "lvis", np.random.default_rng(3)
    names = [f"train2017/{at:012}.jpg" for at in range(5)]
    for at, name in enumerate(names):
        photo(root / name, at)
    annotations: list[dict[str, Any]] = []
    document = {
        "info": {}, "licenses": [], "annotations": annotations,
        "images": [
            {
                "id": at + 5, "width": 40, "height": 30, "license": 1, "date_captured": "",
                "coco_url": f"http://images.cocodataset.org/{name}", "flickr_url": "",
                "neg_category_ids": [8], "not_exhaustive_category_ids": [],
            }
            for at, name in enumerate(names)
        ],
        "categories": [
            {
                "id": number, "name": name, "synset": f"{name}.n.01", "synonyms": [name],
                "def": "a thing", "frequency": "r", "image_count": 1, "instance_count": 1,
            }
            for number, name in [(3, "aerosol"), (8, "alcohol")]
        ],
    }
    for number in range(12):
        x, y, w, h = (draw.integers(2, 14, 4) + [0, 0, 2, 2]).tolist()
        annotations.append({
            "id": number + 1, "image_id": 5 + number % 4, "category_id": [3, 8][number % 2],
            "bbox": [x + 0.5, y, w, h], "area": w * h / 2,
            "segmentation": [[x + 0.5, y, x + w, y, x + w, y + h]],
        })
    (root / "lvis_v1_train.json").write_text(json.dumps(document))
    theirs = lvis.LVIS(str(root / "lvis_v1_train.json"))
    samples = packed(root, tmp_path / "o.wds")[""]
    assert len(samples) == len(names)
    for at, sample in enumerate(samples):
        np.testing.assert_array_equal(pixels(sample["image"]), np.asarray(Image.open(root / names[at])))
        expected = theirs.load_anns(theirs.get_ann_ids(img_ids=[at + 5]))
        objects = sample["objects"]
        assert objects["bbox"] == [it["bbox"] for it in expected]
        named = [theirs.load_cats([it["category_id"]])[0]["name"] for it in expected]
        assert objects["category_name"] == named
        assert objects["segmentation"] == [it["segmentation"] for it in expected]
        assert objects["area"] == [it["area"] for it in expected]


def test_food101_as_torchvision_reads_it(tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    root = tmp_path / "food-101"
    lists = {"train": ["waffles/3", "apple_pie/1", "apple_pie/4"], "test": ["apple_pie/2", "waffles/9"]}
    (root / "meta").mkdir(parents=True)
    for split, names in lists.items():
        (root / f"meta/{split}.txt").write_text("\n".join(names) + "\n")
        grouped: dict[str, list[str]] = {}
        for at, name in enumerate(names):
            grouped.setdefault(name.split("/")[0], []).append(name)
            photo(root / f"images/{name}.jpg", at)
        (root / f"meta/{split}.json").write_text(json.dumps(grouped))
    ours = packed(root, tmp_path / "o.wds", "train", "test")
    for split in lists:
        theirs = datasets.Food101(str(tmp_path), split=split)
        wanted = {
            "/".join(Path(file).parts[-2:]): label
            for file, label in zip(theirs._image_files, theirs._labels)
        }
        found = {"/".join(Path(it["__key__"]).parts[-2:]): it["label"] for it in ours[split]}
        assert found == wanted


def test_pets_as_torchvision_reads_them(tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    root = tmp_path / "oxford-iiit-pet"
    lists = {
        "trainval": ["great_pyrenees_7 3 2 2", "Abyssinian_1 1 1 1"],
        "test": ["beagle_1 2 2 1", "Abyssinian_2 1 1 1", "great_pyrenees_8 3 2 2"],
    }
    for n, (name, lines) in enumerate(lists.items()):
        (root / "annotations/trimaps").mkdir(parents=True, exist_ok=True)
        (root / f"annotations/{name}.txt").write_text("\n".join(lines) + "\n")
        for at, line in enumerate(lines):
            stem = line.split()[0]
            photo(root / f"images/{stem}.jpg", 10 * n + at)
            photo(root / f"annotations/trimaps/{stem}.png", 50 + 10 * n + at, mode="L")
    ours = packed(root, tmp_path / "o.wds", "train", "test")
    for split, name in [("train", "trainval"), ("test", "test")]:
        theirs = datasets.OxfordIIITPet(
            str(tmp_path), split=name, target_types=["category", "segmentation"]
        )
        assert len(theirs) == len(ours[split])
        for sample, (image, (label, mask)) in zip(ours[split], theirs):
            assert sample["label"] == label
            np.testing.assert_array_equal(pixels(sample["image"]), np.asarray(image))
            np.testing.assert_array_equal(pixels(sample["mask"]), np.asarray(mask))


def test_voc_as_torchvision_reads_it(tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    root = tmp_path / "VOCdevkit" / "VOC2012"
    for folder in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / folder).mkdir(parents=True)
    boxes = {"a": [("dog", [1, 2, 30, 25])], "b": [("cat", [5, 5, 9, 9]), ("dog", [2, 3, 4, 5])], "c": []}
    for at, (name, objects) in enumerate(boxes.items()):
        photo(root / f"JPEGImages/{name}.jpg", at)
        parts = "".join(
            f"<object><name>{label}</name><bndbox><xmin>{x}</xmin><ymin>{y}</ymin><xmax>{r}</xmax>"
            f"<ymax>{b}</ymax></bndbox></object>"
            for label, (x, y, r, b) in objects
        )
        (root / f"Annotations/{name}.xml").write_text(
            "<annotation><filename>x</filename><size><width>40</width><height>30</height>"
            f"<depth>3</depth></size>{parts}</annotation>"
        )
    (root / "ImageSets/Main/train.txt").write_text("b\na\n")
    (root / "ImageSets/Main/val.txt").write_text("c\n")
    ours = packed(root.parent, tmp_path / "o.wds", "train", "val", layout="voc")
    for split in ("train", "val"):
        theirs = datasets.VOCDetection(str(tmp_path), year="2012", image_set=split)
        for at, sample in enumerate(ours[split]):
            wanted = theirs[at][1]["annotation"].get("object", [])
            found = sample["objects"]
            assert [it["name"] for it in wanted] == found["category_name"]
            for it, (x, y, width, height) in zip(wanted, found["bbox"]):
                corners = [int(it["bndbox"][key]) for key in ("xmin", "ymin", "xmax", "ymax")]
                assert corners == [x + 1, y + 1, x + width, y + height]


def test_class_folders_as_torchvision_reads_them(tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    root = tmp_path / "animals"
    for at, name in enumerate(["train/cat/1", "train/dog/2", "val/cat/3", "val/dog/4"]):
        photo(root / f"{name}.png", at)
    ours = packed(root, tmp_path / "o.wds", "train", "val")
    for split in ("train", "val"):
        theirs = datasets.ImageFolder(str(root / split))
        assert [sample["label"] for sample in ours[split]] == [label for _, label in theirs.samples]


def test_image_folders_as_datasets_reads_them(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    root = tmp_path / "hf"
    for split, names in [("train", ["1.png", "2.png"]), ("test", ["3.png"])]:
        lines = []
        for at, name in enumerate(names):
            photo(root / split / name, at)
            objects = {"bbox": [[1.5, 2, 3, 4]] * (at + 1), "categories": [7] * (at + 1)}
            lines.append(json.dumps({"file_name": name, "text": f"t{at}", "objects": objects}))
        (root / split / "metadata.jsonl").write_text("\n".join(lines) + "\n")
    ours = packed(root, tmp_path / "o.wds", "train", "test")
    theirs = datasets.load_dataset("imagefolder", data_dir=str(root), cache_dir=str(tmp_path / "cache"))
    for split in ("train", "test"):
        assert len(theirs[split]) == len(ours[split])
        for sample, wanted in zip(ours[split], theirs[split]):
            np.testing.assert_array_equal(pixels(sample["image"]), np.asarray(wanted["image"]))
            assert sample["text"] == wanted["text"]
            assert sample["objects"]["bbox"] == wanted["objects"]["bbox"]
            assert sample["objects"]["categories"] == wanted["objects"]["categories"]


def test_labelme_as_its_own_file_reads_it(tmp_path: Path) -> None:
    labelme = pytest.importorskip("labelme", exc_type=ImportError)
    root = tmp_path / "lm"
    photo(root / "a.jpg", 0)
    shapes: list[dict[str, Any]] = [
        {"label": "dog", "points": [[10.5, 9], [2, 3.5]], "shape_type": "rectangle"},
        {"label": "cat", "points": [[1, 2], [5, 2.5], [4, 8]], "shape_type": "polygon"},
        {"label": "dog", "points": [[3, 3]], "shape_type": "point"},
    ]
    shapes = [{**it, "group_id": None, "description": "", "flags": {}, "mask": None} for it in shapes]
    (root / "a.json").write_text(
        json.dumps({
            "version": "5.4.1", "flags": {}, "shapes": shapes, "imagePath": "a.jpg",
            "imageData": None, "imageHeight": 30, "imageWidth": 40,
        })
    )
    theirs = labelme.LabelFile(str(root / "a.json"))
    (sample,) = packed(root, tmp_path / "o.wds")[""]
    found = sample["objects"]
    wanted = [it for it in theirs.shapes if it["shape_type"] != "point"]
    assert [it["label"] for it in wanted] == found["category_name"]
    for it, box in zip(wanted, found["bbox"]):
        points = np.asarray(it["points"])
        low, high = points.min(axis=0), points.max(axis=0)
        np.testing.assert_allclose(box, [*low, *(high - low)])
    np.testing.assert_allclose(found["segmentation"][1][0], np.ravel(wanted[1]["points"]))


@pytest.mark.parametrize(("size", "stored"), [((200, 100), True), ((100, 200), False)])
def test_shapes_of_turned_photos_follow_the_size_that_they_state(
    tmp_path: Path, size: tuple[int, int], stored: bool
) -> None:
    root = tmp_path / "lm"
    root.mkdir()
    exif = Image.Exif()
    exif[0x112] = 6
    Image.fromarray(np.zeros((100, 200, 3), np.uint8)).save(root / "a.jpg", exif=exif)
    corners = [[40, 20], [60, 20], [60, 30]]
    shape = {"label": "dog", "points": corners, "shape_type": "polygon"}
    document = {
        "shapes": [shape], "imagePath": "a.jpg", "imageWidth": size[0], "imageHeight": size[1]
    }
    (root / "a.json").write_text(json.dumps(document))
    (sample,) = packed(root, tmp_path / "o.wds")[""]
    found = sample["objects"]
    turned = [[100 - y, x] for x, y in corners] if stored else corners
    low, high = np.min(turned, axis=0), np.max(turned, axis=0)
    assert found["size"] == [100, 200]
    assert found["segmentation"] == [[np.ravel(turned).tolist()]]
    assert found["bbox"] == [[*low.tolist(), *(high - low).tolist()]]


def boxes_of_datumaro(path: Path, kind: str) -> dict[str, list[tuple[str, list[float]]]]:
    """The boxes that datumaro reads, by the names of images."""
    components = pytest.importorskip("datumaro.components.dataset", exc_type=ImportError)
    dataset = components.Dataset.import_from(str(path), kind)
    labels = dataset.categories()[next(iter(dataset.categories()))]
    found = {}
    for item in dataset:
        boxes = [
            (labels[it.label].name, [float(value) for value in it.get_bbox()])
            for it in item.annotations
            if it.type.name in ("bbox", "polygon")
        ]
        found[Path(item.id).name] = boxes
    return found


def same_boxes(ours: list[dict[str, Any]], theirs: dict[str, list[tuple[str, list[float]]]]) -> None:
    assert len(ours) == len(theirs)
    for sample in ours:
        wanted = sorted(theirs[Path(sample["__key__"]).stem])
        objects = sample["objects"]
        found = sorted(zip(objects["category_name"], objects["bbox"]))
        assert [name for name, _ in found] == [name for name, _ in wanted]
        for (_, box), (_, other) in zip(found, wanted):
            np.testing.assert_allclose(box, other, atol=0.01)


CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
<meta><task><name>t</name><size>2</size><labels>
<label><name>dog</name><attributes></attributes></label>
<label><name>cat</name><attributes></attributes></label>
</labels></task></meta>
<image id="0" name="a.png" width="40" height="30">
<box label="cat" occluded="1" xtl="1.50" ytl="2.00" xbr="5.00" ybr="8.25" z_order="0"></box>
<polygon label="dog" occluded="0" points="1.00,2.00;5.00,2.50;4.00,8.00" z_order="0"></polygon>
</image>
<image id="1" name="b.png" width="40" height="30"></image>
</annotations>
"""


def test_cvat_as_datumaro_reads_it(tmp_path: Path) -> None:
    root = tmp_path / "cvat"
    for at, name in enumerate("ab"):
        photo(root / f"images/{name}.png", at)
    (root / "annotations.xml").write_text(CVAT)
    theirs = boxes_of_datumaro(root, "cvat")
    same_boxes(packed(root, tmp_path / "o.wds")[""], theirs)


def test_openimages_as_datumaro_reads_it(tmp_path: Path) -> None:
    root = tmp_path / "oi"
    head = (
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,"
        "IsDepiction,IsInside"
    ).split(",")
    rows = [
        ["aa", "xclick", "/m/dog", 1, 0.1, 0.6, 0.2, 0.8, 1, 0, 0, 0, 0],
        ["aa", "xclick", "/m/cat", 1, 0, 1, 0, 0.5, 0, 1, 1, 0, 0],
        ["bb", "xclick", "/m/dog", 1, 0.25, 0.5, 0.25, 0.75, 0, 0, 0, 0, 0],
    ]
    for at, name in enumerate(["aa", "bb"]):
        photo(root / f"images/train/{name}.jpg", at)
    (root / "annotations").mkdir()
    with open(root / "annotations/train-annotations-bbox.csv", "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    names = "/m/dog,Dog\n/m/cat,Cat\n"
    (root / "annotations/class-descriptions-boxable.csv").write_text(names)
    # The later table has a first line.
    (root / "annotations/oidv6-class-descriptions.csv").write_text("LabelName,DisplayName\n" + names)
    (root / "annotations/train-images-boxable.csv").write_text(
        "image_name,image_url\n" + "".join(f"{name}.jpg,x\n" for name in ("aa", "bb"))
    )
    ours = packed(root, tmp_path / "o.wds")
    # datumaro calls classes by their codes.
    by_code = {"/m/dog": "Dog", "/m/cat": "Cat"}
    theirs = {
        image: [(by_code[code], box) for code, box in boxes]
        for image, boxes in boxes_of_datumaro(root, "open_images").items()
    }
    same_boxes(ours[""], theirs)
