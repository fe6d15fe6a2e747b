#!/usr/bin/env python3
"""Packs annotations of COCO and compares what comes back with what the COCO API reads.

    check_annotations.py FDCONVERT FOLDER

Writes images and annotations of all kinds (polygons, run lengths, keypoints, images without
objects) into FOLDER, packs them into four formats, and unpacks these. Where torchvision
is installed its CocoDetection judges as well.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import zlib

import numpy
from pycocotools import mask as masks
from pycocotools.coco import COCO


def png(width: int, height: int) -> bytes:
    """A gray PNG."""

    def chunk(name: bytes, data: bytes) -> bytes:
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = (b"\0" + bytes(width)) * height
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def segmentation(draw: random.Random, width: int, height: int) -> tuple[object, int]:
    """Polygons, run lengths as numbers, or compressed ones; and whether they are a crowd."""
    kind = draw.randrange(3)
    if kind == 0:
        corners = [
            [round(draw.uniform(0, side), 2) for _ in range(4) for side in (width, height)]
            for _ in range(draw.randint(1, 3))
        ]
        return corners, 0
    bits = numpy.asfortranarray(
        numpy.array([[draw.random() < 0.3 for _ in range(width)] for _ in range(height)], "uint8")
    )
    if kind == 1:
        encoded = masks.encode(bits)
        return {"size": encoded["size"], "counts": encoded["counts"].decode()}, 1
    flat = bits.flatten(order="F")
    edges = numpy.flatnonzero(numpy.diff(flat)) + 1
    runs = numpy.diff([0, *edges, len(flat)]).tolist()
    return {"size": [height, width], "counts": [0, *runs] if flat[0] else runs}, 1


def made(folder: pathlib.Path, n_images: int) -> pathlib.Path:
    """Images and their annotations."""
    draw = random.Random(1)
    images, annotations = [], []
    categories = [{"id": n, "name": f"class {n}"} for n in (90, 3, 17, 44)]
    for at in range(n_images):
        width, height = draw.randint(8, 40), draw.randint(8, 40)
        name = f"{at % 3}/{at:04}.png"
        path = folder / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(width, height))
        image = 1000 - 7 * at
        images.append({"id": image, "file_name": name, "width": width, "height": height})
        for _ in range(draw.choice([0, 1, 1, 5])):
            shape, crowd = segmentation(draw, width, height)
            points = [draw.choice([0, 1, 2, 3.5]) for _ in range(9)]
            annotations.append({
                "id": 100_000 - len(annotations),
                "image_id": image,
                "category_id": draw.choice(categories)["id"],
                "bbox": [round(draw.uniform(0, 8), 3) for _ in range(4)],
                "area": draw.uniform(0, 100),
                "iscrowd": crowd,
                "segmentation": shape,
                "keypoints": points,
                "num_keypoints": 3,
            })
    draw.shuffle(annotations)
    file = folder / "instances.json"
    whole = {"annotations": annotations, "images": images, "categories": categories}
    file.write_text(json.dumps(whole))
    return file


def rows(folder: pathlib.Path) -> list[dict]:
    """The table of an unpacked dataset."""
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]


def compare(coco: COCO, row: dict) -> int:
    """Compares a sample with what the API gives of its image; gives the number of objects."""
    annotations = coco.loadAnns(coco.getAnnIds(imgIds=[row["image_id"]]))
    objects = row["objects"]
    if "$json" in objects:
        objects = json.loads(objects["$json"])
    image = coco.imgs[row["image_id"]]
    assert objects.pop("size") == [image["width"], image["height"]], row
    categories = coco.loadCats(sorted(coco.getCatIds()))
    expected = {key: [it[key] for it in annotations] for key in objects if not key.startswith("cat")}
    expected["category"] = [
        [category["id"] for category in categories].index(it["category_id"]) for it in annotations
    ]
    expected["category_name"] = [categories[at]["name"] for at in expected["category"]]
    expected["category_id"] = [it["category_id"] for it in annotations]
    assert objects == expected, (objects, expected)
    for annotation, shape in zip(annotations, objects["segmentation"], strict=True):
        again = coco.annToMask(dict(annotation, segmentation=shape))
        assert (again == coco.annToMask(annotation)).all(), annotation
    return len(annotations)


def main() -> None:
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True)
    file = made(folder, 200)
    coco = COCO(str(file))
    for name in ("beton", "wds", "mds", "parquet"):
        packed, back = folder / f"packed.{name}", folder / f"back-{name}"
        pack = [program, "pack", folder / "images", packed, "--labels", file, "--quiet"]
        subprocess.run(pack, check=True)
        subprocess.run([program, "unpack", packed, back, "--quiet"], check=True)
        found = rows(back)
        assert [row["image_id"] for row in found] == list(coco.imgs), name
        n_objects = sum(compare(coco, row) for row in found)
        assert n_objects == len(coco.anns), name
        print(f"{name}: {len(found)} images, {n_objects} objects as pycocotools reads them")
    try:
        from torchvision.datasets import CocoDetection
    except ImportError:
        print("torchvision is not installed here")
        return
    by_id = {row["image_id"]: row for row in found}
    judge = CocoDetection(str(folder / "images"), str(file))
    for at, image in enumerate(judge.ids):
        objects = by_id[image]["objects"]
        objects = json.loads(objects["$json"]) if "$json" in objects else objects
        _, target = judge[at]
        for key in ("bbox", "area", "iscrowd", "segmentation", "keypoints", "id"):
            assert [it[key] for it in target] == objects[key], (image, key)
    print(f"torchvision: {len(judge)} images with the same targets")


main()
