"""Annotations in and out: ours and other tools on a synthetic COCO file, one after the other.

    python benches/annotations.py FOLDER --program target/release/fdconvert

Makes 118,000 images (links to eight) and 860,000 annotations below FOLDER once, and converts them
COCO -> YOLO -> VOC -> COCO, and COCO -> COCO. Peers run where their packages are installed: supervision,
ultralytics and datumaro, each in a process of its own. Reports wall time, CPU time and peak memory.

What is written stays in FOLDER/run-*, a folder for each run, for you to delete: ext4 does not give inodes
out again for five minutes after their files were deleted, and looks at each of them for every file that
is created meanwhile. A run within this time measures that.
"""

import argparse
import json
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SIZES = [(640, 480), (480, 640), (640, 427), (500, 375), (612, 612), (640, 640), (333, 500), (640, 360)]


def run_lengths(size: tuple[int, int], box: tuple[int, int, int, int]) -> dict[str, Any]:
    """A box without its first pixel, column by column."""
    (width, height), (left, top, w, h) = size, box
    counts = [left * height + top + 1, h - 1]
    for _ in range(w - 1):
        counts += [height - h, h]
    counts.append(width * height - sum(counts))
    return {"size": [height, width], "counts": counts}


def make(folder: Path, n_images: int, n_annotations: int) -> None:
    from PIL import Image

    draw = random.Random(1)
    (folder / "images").mkdir(parents=True)
    files, images = [], []
    for number, size in enumerate(SIZES):
        files.append(folder / f"{number}.jpg")
        Image.new("RGB", size, (90, 40, 10)).save(files[-1], quality=30)
    for number in range(n_images):
        width, height = SIZES[number % 8]
        name = f"{number:012}.jpg"
        os.link(files[number % 8], folder / "images" / name)
        images.append({"id": number * 3 + 7, "file_name": name, "width": width, "height": height})
    categories = [{"id": it + 1 + it // 10, "name": f"category {it:02}"} for it in range(80)]
    with (folder / "instances.json").open("w") as out:
        out.write('{"images": ' + json.dumps(images) + ', "categories": ' + json.dumps(categories))
        out.write(', "annotations": [')
        for number in range(n_annotations):
            image = draw.choice(images)
            width, height = image["width"], image["height"]
            w, h = draw.randrange(8, int(width * 0.6)), draw.randrange(8, int(height * 0.6))
            x, y = draw.randrange(width - w), draw.randrange(height - h)
            n_points = draw.choice([8, 12, 16, 24, 40])
            category = draw.randrange(80)
            entry = {
                "id": number + 1000, "image_id": image["id"], "category_id": categories[category]["id"],
                "bbox": [x + 0.25, y + 0.5, w - 0.5, h - 0.75], "area": round(w * h * 0.7, 4), "iscrowd": 0,
            }
            if number % 100 == 7:
                entry["bbox"] = [x, y, w, h]
                entry["segmentation"] = run_lengths((width, height), (x, y, w, h))
            else:
                angles = [2 * math.pi * it / n_points for it in range(n_points)]
                points = [(x + w / 2 * (1 + math.cos(it)), y + h / 2 * (1 + math.sin(it))) for it in angles]
                entry["segmentation"] = [[round(side, 2) for point in points for side in point]]
            if category == 0:
                entry["keypoints"] = [side for it in range(17) for side in (x + it % w, y + it % h, 2)]
                entry["num_keypoints"] = 17
            out.write((", " if number else "") + json.dumps(entry))
        out.write("]}")


def measured(name: str, command: list[str]) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    # Peak memory is that of the largest child so far, so that each runs below a process of its own.
    watch = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:], stdout=2); " \
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    ran = subprocess.run([sys.executable, "-c", watch, *command], capture_output=True, text=True)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if ran.returncode:
        told = (ran.stderr.strip().splitlines() or ["it took too long"])[-1][:90]
        print(f"| {name} | failed after {seconds:.0f} s: {told} | | |", flush=True)
        return
    peak = int(ran.stdout.split()[-1]) / 1024
    print(f"| {name} | {seconds:.2f} | {cpu:.2f} | {peak:.0f} |", flush=True)


PEERS = {
    "supervision: COCO -> YOLO": (
        "import sys, supervision as sv; f, out = sys.argv[1:]; "
        "d = sv.DetectionDataset.from_coco(f + '/images', f + '/instances.json'); "
        "d.as_yolo(annotations_directory_path=out + '/sv/labels', data_yaml_path=out + '/sv/data.yaml')"
    ),
    "ultralytics: COCO -> YOLO": (
        "import sys; from ultralytics.data.converter import convert_coco; f, out = sys.argv[1:]; "
        "convert_coco(f + '/annotations', out + '/ul', cls91to80=False)"
    ),
    "datumaro: COCO -> YOLO": (
        "import sys; from datumaro.components.dataset import Dataset; f, out = sys.argv[1:]; "
        "Dataset.import_from(f + '/annotations/instances_train.json', 'coco_instances').export(out + '/dm', 'yolo')"
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", default="fdconvert")
    parser.add_argument("--images", type=int, default=118_000)
    parser.add_argument("--annotations", type=int, default=860_000)
    parser.add_argument("--timeout", type=int, default=600, help="seconds for each peer")
    parser.add_argument("--peers", default=sys.executable, help="the Python that has the peers")
    args = parser.parse_args()
    folder: Path = args.folder
    if not (folder / "instances.json").exists():
        make(folder, args.images, args.annotations)
    print("| | seconds | CPU s | peak MiB |\n|---|---:|---:|---:|")
    images, coco = folder / "images", folder / "instances.json"
    run = Path(tempfile.mkdtemp(prefix="run-", dir=folder))
    steps = [
        ("COCO -> COCO", images, coco, "coco", "none"),
        ("COCO -> YOLO", images, coco, "yolo", "none"),
        ("COCO -> YOLO, images linked", images, coco, "yolo", "link"),
        ("YOLO -> VOC", run / "yolo-link", run / "yolo-link/data.yaml", "voc", "none"),
        ("VOC -> COCO", run / "voc-none", run / "voc-none/Annotations", "coco", "none"),
    ]
    for number, (name, source, labels, to, kept) in enumerate(steps):
        out = run / (f"{to}-{kept}" if number != 4 else "back")
        measured(name, [
            args.program, "pack", str(source), str(out), "--labels", str(labels), "--format", "folder",
            "--annotations", to, "--images", kept, "--follow-links", "--quiet",
        ])
    (folder / "annotations").mkdir(exist_ok=True)
    shutil.copy(coco, folder / "annotations/instances_train.json")
    for name, program in PEERS.items():
        measured(name, ["timeout", str(args.timeout), args.peers, "-c", program, str(folder), str(run)])


if __name__ == "__main__":
    main()
