#!/usr/bin/env python3
"""Lets other people's readers read what belongs to detection: `check_fields.py FDCONVERT WORK`.

Annotations of COCO are packed with a mask, a number and a text beside each image, as tar shards,
MDS, Parquet and a beton. webdataset, MosaicML Streaming, Hugging Face `datasets` and FFCV read them,
as far as they are installed: all fields are what was put in. Nothing is packed twice: for readers
that cannot be installed together, run it in several environments. Fails at the first difference.
"""
import glob
import io
import json
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

program, work = sys.argv[1], Path(sys.argv[2])
N_IMAGES = 60


def png(width, height, channels, pixels):
    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    stride = width * channels
    rows = b"".join(b"\0" + pixels[at * stride:(at + 1) * stride] for at in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def samples():
    """What the readers have to find; the same in every run."""
    draw = random.Random(5)
    for number in range(N_IMAGES):
        width, height = draw.randint(8, 40), draw.randint(8, 40)
        image, mask = draw.randbytes(width * height * 3), draw.randbytes(width * height)
        shapes, inside = [], draw.randrange(width * height)
        for _ in range(draw.choice([0, 1, 1, 4])):
            polygon = [[round(draw.uniform(0, 8), 2) for _ in range(6)]]
            runs = {"size": [height, width], "counts": [inside, width * height - inside]}
            shapes.append((draw.choice([polygon, runs]), draw.randint(0, 2)))
        yield {
            "size": (width, height), "image": image, "mask": mask, "shapes": shapes,
            "name": f"{number:03}", "image_id": 1000 - 7 * number,
            "score": draw.uniform(-1, 1), "caption": draw.choice(["", "caf\u00e9", "a \"b\"\n\t\\"]),
        }


truth = list(samples())
for it in truth:
    it["png"] = png(*it["size"], 3, it["image"])
    it["mask.png"] = png(*it["size"], 1, it["mask"])
    it["objects"] = {
        "size": list(it["size"]),
        "bbox": [[1.5, 2, 3, 4.25] for _ in it["shapes"]],
        "category": [category for _, category in it["shapes"]],
        "category_name": [f"class {category}" for _, category in it["shapes"]],
        "category_id": [10 + category for _, category in it["shapes"]],
        "area": [12.75 for _ in it["shapes"]],
        "iscrowd": [int(isinstance(shape, dict)) for shape, _ in it["shapes"]],
        "segmentation": [shape for shape, _ in it["shapes"]],
        "id": [number + it["image_id"] * 10 for number in range(len(it["shapes"]))],
    }


def run(*args):
    subprocess.run([program, *args, "--quiet"], check=True)


def pack():
    """Packs COCO, adds columns to the table that it becomes, and packs that with the masks."""
    for folder, field in (("images", "png"), ("masks", "mask.png")):
        (work / folder).mkdir(parents=True)
        for it in truth:
            (work / folder / f"{it['name']}.png").write_bytes(it[field])
    coco = {"images": [], "annotations": [], "categories": [
        {"id": 10 + number, "name": f"class {number}"} for number in range(3)]}
    for it in truth:
        width, height = it["size"]
        coco["images"].append({"id": it["image_id"], "file_name": f"{it['name']}.png",
                               "width": width, "height": height})
        objects = it["objects"]
        for at, category in enumerate(objects["category"]):
            same = {key: objects[key][at] for key in ("id", "bbox", "area", "iscrowd", "segmentation")}
            coco["annotations"].append(
                same | {"image_id": it["image_id"], "category_id": 10 + category})
    (work / "instances.json").write_text(json.dumps(coco))
    run("pack", work / "images", work / "coco.mds", "--labels", work / "instances.json")
    run("unpack", work / "coco.mds", work / "table")
    rows = [json.loads(line) for line in (work / "table/labels.jsonl").read_text().splitlines()]
    for row, it in zip(rows, truth, strict=True):
        row |= {"score": it["score"], "caption": it["caption"]}
    (work / "table.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    more = ["--labels", work / "table.jsonl", "--pair", f"mask={work / 'masks'}"]
    for name in ("all.wds", "all.mds", "all.parquet", "all.beton"):
        run("pack", work / "images", work / name, *more)


def compare(reader, found, images=("png", "mask.png")):
    """Compares all fields of all samples; images as tuples of bytes or pixels."""
    n_objects = 0
    for it, (pair, others) in zip(truth, found, strict=True):
        assert tuple(pair) == tuple(it[name] for name in images), (reader, it["name"])
        expected = [it[name] for name in ("image_id", "score", "caption", "objects")]
        assert list(others) == expected, (reader, others, expected)
        n_objects += len(it["shapes"])
    print(f"{reader}: {len(truth)} images, masks, numbers and texts, {n_objects} objects as packed")


def by_webdataset():
    import webdataset

    shards = sorted(glob.glob(str(work / "all.wds/*.tar")))
    for it in webdataset.WebDataset(shards, shardshuffle=False).decode():
        others = [it["image_id.cls"], it["score.json"], it["caption.txt"], it["objects.json"]]
        yield (it["png"], it["mask.png"]), others


def by_datasets():
    import datasets

    dataset = datasets.load_dataset("parquet", data_files=str(work / "all.parquet"), split="train")
    for name in ("image", "mask"):
        assert isinstance(dataset.features[name], datasets.Image), dataset.features
        dataset = dataset.cast_column(name, datasets.Image(decode=False))
    for it in dataset:
        others = [it["image_id"], it["score"], it["caption"], json.loads(it["objects"])]
        yield (it["image"]["bytes"], it["mask"]["bytes"]), others


def by_streaming():
    import streaming
    from streaming.base.util import clean_stale_shared_memory

    def pixels(image):
        from PIL import Image
        image = Image.open(io.BytesIO(image)) if isinstance(image, bytes) else image
        return image.tobytes()

    clean_stale_shared_memory()
    for it in streaming.StreamingDataset(local=str(work / "all.mds"), shuffle=False, batch_size=1):
        others = [it["image_id"], it["score"], it["caption"], it["objects"]]
        image = it.get("image", it.get("png"))
        yield (pixels(image), pixels(it["mask"])), others


def by_ffcv():
    """FFCV's own reader of the tables, and its own memory: fields as it finds them."""
    import numpy
    from ffcv.fields import BytesField, FloatField, IntField, JSONField, RGBImageField
    from ffcv.memory_managers import OSCacheManager
    from ffcv.reader import Reader

    reader = Reader(str(work / "all.beton"))
    kinds = {name: type(field) for name, field in reader.handlers.items()}
    # It takes its own JSON for bytes, and leaves it to the caller to unpack them.
    assert kinds == {"image": RGBImageField, "mask": RGBImageField, "image_id": IntField,
                     "score": FloatField, "caption": BytesField, "objects": BytesField}, kinds
    manager = OSCacheManager(reader)
    with manager.schedule_epoch(numpy.arange(reader.num_samples)[None]) as context:
        read, state = manager.compile_reader(), context.state
        for row in reader.metadata:
            row = dict(zip(reader.field_names, row))

            def pixels(cell, read=read, state=state):
                data, n_pixels = read(cell["data_ptr"], state), int(cell["width"]) * int(cell["height"])
                assert len(data) == n_pixels * 3, "raw RGB"
                return data.tobytes()

            def document(cell, read=read, state=state):
                data = read(cell["ptr"], state)
                assert len(data) == cell["size"]
                return JSONField.unpack(data)

            def number(cell):
                return cell.item() if hasattr(cell, "item") else cell

            mask = pixels(row["mask"])
            # Gray is stored as three equal channels.
            assert mask[::3] == mask[1::3] == mask[2::3]
            others = [number(row["image_id"]), number(row["score"])]
            others += [document(row["caption"]), document(row["objects"])]
            yield (pixels(row["image"]), mask[::3]), others


if not work.exists():
    pack()
READERS = {
    "webdataset": (by_webdataset, ("png", "mask.png")),
    "datasets": (by_datasets, ("png", "mask.png")),
    "streaming": (by_streaming, ("image", "mask")),
    "ffcv": (by_ffcv, ("image", "mask")),
}
for name, (reader, images) in READERS.items():
    try:
        __import__(name)
    except ImportError as error:
        print(f"{name}: skipped, not installed ({error})")
        continue
    compare(name, reader(), images)
