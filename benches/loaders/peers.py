#!/usr/bin/env python3
"""The tables of peers in docs/benchmarks.md: `make peers IMAGES=DIR` does all of it.

    peers.py install                            environments, from requirements/*.txt
    peers.py prepare IMAGES WORK                the images in every loader's format
    peers.py measure WORK                       a round of every loader, added to the record
    peers.py write                              tables and charts into the documentation

`install` makes an environment for each file of `requirements`, as the loaders need versions that do not
agree, and builds fdconvert of this checkout for `torch`, unless `--wheel` names one that is built;
`--python GROUP=PATH` of the others names one that exists.
What cannot be installed or does not run is named in the record and in the tables, with its reason.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from common import jpegs
from compare import Failed, once, rows, table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPIES = 4
# An epoch of raw images is to have some batches more, as memory for the first ones is new.
RAW_COPIES = 8
# Script, environment, and what it reads of the work folder. Ours stands first: ratios are to it.
LOADERS = {
    "fdconvert": ("ours.py", "torch", "keep.beton"),
    "fdconvert files": ("ours.py", "torch", "images"),
    "FFCV": ("ffcv_loader.py", "ffcv", "keep.beton"),
    "DALI": ("dali.py", "dali", "images"),
    "torchvision": ("torch_tv.py", "torch", "images"),
    "torchcodec": ("torch_codec.py", "torch", "images"),
    "webdataset": ("wds_tar.py", "torch", "images.wds"),
    "MosaicML Streaming": ("mds_stream.py", "stores", "images.mds"),
    "LitData": ("litdata_chunks.py", "stores", "images.lit"),
    "SPDL": ("spdl_files.py", "torch", "images"),
    "turboloader": ("turbo_tar.py", "torch", "images.tar"),
    "dataio-rs": ("dataio_files.py", "torch", "images"),
    "datago": ("datago_files.py", "torch", "images"),
    "threads": ("turbo_cv2.py", "torch", "images"),
}
RAW = {
    "raw fdconvert": ("ours.py", "torch", "raw256.beton"),
    "raw fdconvert smart": ("ours.py", "torch", "smart256.beton"),
    "raw FFCV": ("ffcv_loader.py", "ffcv", "raw256.beton"),
    "raw fdconvert floats": ("ours.py --floats", "torch", "raw256.beton"),
    "raw turboloader floats": ("turbo_tbl.py", "torch", "raw256.tbl"),
}
CENTER_ONLY = ["datago"]


def install(args):
    for file in sorted((HERE / "requirements").glob("*.txt")):
        venv = args.venvs / file.stem
        pip = [str(venv / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        # FFCV's build looks for torch and NumPy that are installed already.
        subprocess.run([*pip, "wheel", "setuptools<81"], check=True)
        for line in file.read_text().splitlines():
            if line and not line.startswith("#"):
                # One after the other, so that one that fails leaves the others.
                done = subprocess.run([*pip, *line.split()])
                if done.returncode:
                    print(f"left out: {line} ({file.name})", file=sys.stderr)
        if file.stem == "torch":
            # The version is the same for every commit.
            ours = ["--no-deps", "--force-reinstall", str(args.wheel or ROOT)]
            subprocess.run([*pip, *ours], check=True)


def prepare(args):
    images = args.work / "images"
    if args.only != "raw":
        args.work.mkdir(parents=True)
        copy_images(args.images, images)
        prepare_jpegs(args, images)
    if args.only != "jpeg":
        prepare_raw(args, images)


def copy_images(source, images):
    for path in jpegs(source):
        for copy in range(COPIES):
            target = images / Path(path).parent.name / f"{copy}_{Path(path).stem}.jpg"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(Path(path).read_bytes())


def prepare_jpegs(args, images):
    import fdconvert

    work = args.work
    fdconvert.pack(images, work / "keep.beton")
    fdconvert.pack(images, work / "images.wds", format="wds", shards=2)
    with tarfile.open(work / "images.tar", "w") as tar:
        for number, path in enumerate(jpegs(images)):
            tar.add(path, f"{number:06}.jpg")
    theirs(args, "stores", "mds_stream.py", images, work / "images.mds")
    theirs(args, "stores", "litdata_chunks.py", images, work / "images.lit")


def prepare_raw(args, images):
    import fdconvert

    work = args.work
    copied = work / "images_copied"
    for path in jpegs(images):
        link(path, copied)
    squares(images, work)
    fdconvert.pack(work / "squares", work / "raw256.beton", encode="raw", overwrite=True)
    fdconvert.pack(copied, work / "smart256.beton", encode="smart", short_side=256, overwrite=True)
    theirs(args, "torch", "turbo_tbl.py", work / "squares.tar", work / "raw256.tbl")


def theirs(args, group, script, source, out):
    """Lets a loader write its own format; if it cannot, it will have nothing to read, and is left out."""
    command = [interpreter(args, group), HERE / script, "--pack", source, out]
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL)


def link(path, folder):
    """The same file under more names, so that epochs are longer."""
    for copy in range(RAW_COPIES):
        target = folder / Path(path).parent.name / f"{copy}_{Path(path).name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, target)


def squares(images, work):
    """The images as squares of 256 pixels, which is what TBL-RAW stores: PNGs, and a tar of JPEGs."""
    import io

    from PIL import Image

    with tarfile.open(work / "squares.tar", "w") as tar, tempfile.TemporaryDirectory(dir=work) as made:
        for number, path in enumerate(jpegs(images)):
            with Image.open(path) as image:
                square = image.convert("RGB").resize((256, 256))
            png = Path(made) / Path(path).parent.name / f"{Path(path).stem}.png"
            png.parent.mkdir(exist_ok=True)
            square.save(png, compress_level=1)
            link(png, work / "squares")
            file = io.BytesIO()
            square.save(file, "JPEG", quality=95)
            for copy in range(RAW_COPIES):
                info = tarfile.TarInfo(f"{copy}_{number:06}.jpg")
                info.size = file.tell()
                tar.addfile(info, io.BytesIO(file.getvalue()))


def interpreter(args, group):
    return args.python.get(group) or str(args.venvs / group / "bin/python")


def measure(args):
    record = json.loads(args.record.read_text()) if args.record.exists() else {"runs": [], "left_out": {}}
    record["machine"] = {"cpu": cpu_name(), "processors": os.cpu_count()}
    number = 1 + max((run["round"] for run in record["runs"]), default=-1)
    chosen = {**({} if args.only == "raw" else LOADERS), **({} if args.only == "jpeg" else RAW)}
    for threads in args.threads:
        for crop in args.crop:
            for name, (script, group, data) in chosen.items():
                if name in (RAW if crop == "center" else CENTER_ONLY):
                    continue
                words = script.split()
                command = [interpreter(args, group), str(HERE / words[0]), str(args.work / data), *words[1:]]
                try:
                    run = once(" ".join(command), crop, threads)
                except (Failed, OSError) as reason:
                    record["left_out"][name] = str(reason)
                    print(f"{name}: left out: {reason}", file=sys.stderr)
                    continue
                kind = "raw" if name in RAW else "jpeg"
                # Not which CUDA a wheel of torch is for.
                run["name"] = re.sub(r"\+\w+", "", run["name"])
                label = f"{run['name']}, floats" if "--floats" in words else run["name"]
                if name in RAW and data.endswith(".beton"):
                    label = f"{label.replace(', beton', '')}, {Path(data).stem} beton"
                record["runs"].append({**run, "name": label, "round": number, "of": kind})
                cpu = run["cpu_ms_per_image"]
                print(f"round {number}, {crop}, {threads} threads, {label}: {cpu:.3f}", file=sys.stderr)
    args.record.write_text(json.dumps(record, indent=1) + "\n")


def cpu_name():
    with open("/proc/cpuinfo") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write(args):
    record = json.loads(args.record.read_text())
    pieces, all_runs = [], record["runs"]
    for kind, crop, title in [
        ("jpeg", "center", "Kept JPEGs, `center`"),
        ("jpeg", "rrc", "Kept JPEGs, `rrc`"),
        ("raw", "rrc", "Raw images of 256 pixels, `rrc`"),
    ]:
        runs = [run for run in all_runs if (run["of"], run["crop"]) == (kind, crop)]
        if not runs:
            continue
        all_threads = sorted({run["threads"] for run in runs})
        picture = args.record.parent / f"{kind}-{crop}.svg"
        chart(title, list(rows(runs, crop, all_threads[0])), picture)
        pieces += [f"![{title}]({picture.parent.name}/{picture.name})", table(runs, crop, all_threads)]
    if record["left_out"]:
        reasons = [f"- {name}: {reason}" for name, reason in record["left_out"].items()]
        pieces.append("Left out:\n\n" + "\n".join(reasons))
    begin, end = "<!-- peers: written by `make peers` -->", "<!-- peers: end -->"
    page = args.page.read_text()
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    args.page.write_text(f"{before}{begin}\n\n" + "\n\n".join(pieces) + f"\n\n{end}{after}")


def chart(title, shown, picture):
    """Drawn by the chart module of this repository."""
    bars = [
        {
            "name": row["name"],
            "value": row["cpu_ms"],
            "range": row["range"],
            "is_ours": row["name"].startswith("fdconvert"),
        }
        for row in shown
    ]
    asked = json.dumps({"title": title, "unit": "CPU-ms per image, one thread", "bars": bars})
    cargo = [os.environ.get("CARGO", "cargo"), "run", "--quiet", "-p", "fdconvert-profile"]
    command = [args.bars] if args.bars else [*cargo, "--example", "bars"]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, cwd=ROOT, check=True)
    picture.write_text(done.stdout)


def pair(text):
    return tuple(text.split("=", 1))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--venvs", type=Path, default=ROOT / "target/peers/venvs")
parser.add_argument("--python", type=pair, action="append", default=[], metavar="GROUP=PATH")
commands = parser.add_subparsers(required=True)
command = commands.add_parser("install")
command.add_argument("--wheel", type=Path, help="fdconvert as it is built already")
command.set_defaults(run=install)
command = commands.add_parser("prepare")
command.add_argument("images", type=Path)
command.add_argument("work", type=Path)
command.add_argument("--only", choices=["jpeg", "raw"])
command.set_defaults(run=prepare)
command = commands.add_parser("measure")
command.add_argument("work", type=Path)
command.add_argument("--record", type=Path, default=ROOT / "docs/peers/record.json")
command.add_argument("--threads", type=int, nargs="+", default=[1])
command.add_argument("--crop", nargs="+", default=["center", "rrc"])
command.add_argument("--only", choices=["jpeg", "raw"])
command.set_defaults(run=measure)
command = commands.add_parser("write")
command.add_argument("--record", type=Path, default=ROOT / "docs/peers/record.json")
command.add_argument("--page", type=Path, default=ROOT / "docs/benchmarks.md")
command.add_argument("--bars", help="the program that draws, where it is built already")
command.set_defaults(run=write)
args = parser.parse_args()
args.python = dict(args.python)
args.run(args)
