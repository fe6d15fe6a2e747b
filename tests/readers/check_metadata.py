#!/usr/bin/env python3
"""Lets Pillow judge what `--strip-metadata` leaves: `check_metadata.py FDCONVERT PHOTOS WORK`.

The photos are written by Pillow in four codecs with an EXIF that has a position, in all orientations.
Packed without metadata they show the same pixels, upright too, and what was to go is gone. Skipped
where Pillow is not installed.
"""
import io
import subprocess
import sys
import tarfile
from pathlib import Path

try:
    from PIL import Image, ImageOps, PngImagePlugin, __version__
except ImportError:
    print("Pillow: skipped, not installed")
    sys.exit()

MAKER, ORIENTATION, CAMERA, GPS, TIME = 0x010F, 0x0112, 0x8769, 0x8825, 0x9003
program, photos, work = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
source = work / "dressed"
source.mkdir(parents=True)
for number, path in enumerate(sorted(photos.glob("*.png"))):
    image = Image.open(path).convert("RGB")
    image.thumbnail((160, 160))
    exif = Image.Exif()
    exif[MAKER], exif[ORIENTATION] = "Maker", number % 8 + 1
    exif.get_ifd(GPS).update({1: "N", 2: (48.0, 8.0, 7.5), 3: "E", 4: (11.0, 34.0, 1.25)})
    exif.get_ifd(CAMERA)[TIME] = "2026:01:02 03:04:05"
    tiff = exif.tobytes()
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", "here")
    place = b"<x:xmpmeta>GPSLatitude</x:xmpmeta>"
    image.save(source / f"{number:03}a.jpg", exif=tiff, comment=b"here")
    image.save(source / f"{number:03}b.jpg", exif=tiff, progressive=True)
    image.save(source / f"{number:03}c.png", exif=tiff, pnginfo=text)
    image.save(source / f"{number:03}d.webp", exif=tiff, xmp=place)
files = sorted(source.iterdir())


def stored(kinds):
    out = work / f"without-{kinds.replace(',', '-')}"
    subprocess.run([program, "pack", source, out, "--format", "wds", "--quiet"]
                   + ["--strip-metadata", kinds], check=True)
    with tarfile.open(out / "train-000000.tar") as shard:
        return {member.name: shard.extractfile(member).read() for member in shard}


for kinds in ["all", "gps", "exif,xmp", "comments"]:
    images = stored(kinds)
    assert len(images) == len(files)
    n_turned = 0
    for path in files:
        before, after = Image.open(path), Image.open(io.BytesIO(images[path.name]))
        assert before.tobytes() == after.tobytes(), path
        upright = [ImageOps.exif_transpose(image).tobytes() for image in (before, after)]
        assert upright[0] == upright[1], path
        exif = after.getexif()
        n_turned += exif.get(ORIENTATION, 1) > 1
        assert bool(exif.get_ifd(GPS)) == (kinds == "comments"), path
        keeps_exif = kinds in ("gps", "comments")
        assert (exif.get(MAKER) == "Maker") == keeps_exif, path
        assert (TIME in exif.get_ifd(CAMERA)) == keeps_exif, path
        if kinds in ("all", "comments"):
            assert not {"comment", "Comment"} & set(after.info), path
        if kinds in ("all", "gps"):
            assert b"GPSLatitude" not in images[path.name], path
    print(f"Pillow {__version__}: {len(files)} images without {kinds}, {n_turned} of them turned")
