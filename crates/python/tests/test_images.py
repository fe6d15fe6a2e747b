"""Images of every codec: turned by their EXIF, rounded to 8 bits, and of kinds that are not read."""

import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from loading import SMALL

EXIF = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
FORMATS = ["wds", "mds", "parquet"]
CODECS = Path(__file__).parents[3] / "tests" / "fixtures" / "codecs"


def png(pixels: Any, exif: bytes = b"", *, behind: bool = False) -> bytes:
    """A PNG of RGB or, of two dimensions, of gray; of 8 or 16 bits."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape[:2]
    head = struct.pack(">IIBBBBB", width, height, pixels.itemsize * 8, pixels.ndim * 2 - 4, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(pixels.dtype.newbyteorder(">")).tobytes() for row in pixels)
    extra = chunk(b"eXIf", exif) if exif else b""
    data = chunk(b"IDAT", zlib.compress(rows))
    both = data + extra if behind else extra + data
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + both + chunk(b"IEND", b"")


def tiff(pixels: Any, photometric: int, orientation: int = 1) -> bytes:
    """A TIFF of one strip."""
    height, width, samples = pixels.shape
    data = pixels.tobytes()
    entries = [
        (256, 3, width),
        (257, 3, height),
        (258, 3, pixels.itemsize * 8),
        (259, 3, 1),
        (262, 3, photometric),
        (273, 4, 8),
        (274, 3, orientation),
        (277, 3, samples),
        (279, 4, len(data)),
        (339, 3, 3 if pixels.dtype.kind == "f" else 1),
    ]
    body = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
    directory = struct.pack("<H", len(entries)) + body + bytes(4)
    file: bytes = b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory
    return file


def packed(folder: Path, encode: str, source: Path) -> bytes:
    """The bytes of the one image of a source in another codec."""
    out = folder / f"{encode}.wds"
    fdconvert.pack(source, out, format="wds", encode=encode)
    image: bytes = fdconvert.Dataset(out).get(0)["image"]["bytes"]
    return image


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that are red left and blue right, and shown red above blue."""
    folder = tmp_path_factory.mktemp("turned")
    plain, files = folder / "plain", folder / "files" / "a"
    plain.mkdir()
    files.mkdir(parents=True)
    pixels = np.zeros((32, 64, 3), np.uint8)
    pixels[:, :32, 0] = pixels[:, 32:, 2] = 255
    (plain / "x.png").write_bytes(png(pixels))
    (files / "1.png").write_bytes(png(pixels, EXIF))
    (files / "2.png").write_bytes(png(pixels, EXIF, behind=True))
    (files / "3.tif").write_bytes(tiff(pixels, 2, 6))
    jpeg = packed(folder, "jpeg", plain)
    segment = b"Exif\0\0" + EXIF
    segment = b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment
    (files / "4.jpg").write_bytes(jpeg[:2] + segment + jpeg[2:])
    webp = packed(folder, "webp", plain)
    extended = b"VP8X" + struct.pack("<I", 10) + b"\x08\0\0\0" + b"\x3f\0\0\x1f\0\0"
    chunks = extended + webp[12:] + b"EXIF" + struct.pack("<I", len(EXIF)) + EXIF
    riff = b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WEBP" + chunks
    (files / "5.webp").write_bytes(riff)
    return files.parent


def is_upright(image: Any) -> bool:
    top, bottom = image[:12].reshape(-1, 3).mean(0), image[-12:].reshape(-1, 3).mean(0)
    return bool(top[0] > 240 and bottom[2] > 240 and top[2] < 15 and bottom[0] < 15)


def test_the_exif_of_every_codec_turns(turned: Path) -> None:
    for file in sorted(turned.glob("a/*")):
        stored = np.asarray(fdconvert.decode(file.read_bytes()))
        assert stored.shape == (32, 64, 3), file
        upright = np.asarray(fdconvert.decode(file.read_bytes(), orient=True))
        assert np.array_equal(upright, np.rot90(stored, -1)), file
        assert is_upright(upright), file


@pytest.mark.parametrize("format", ["folder", *FORMATS])
def test_datasets_and_loaders_turn_every_codec(turned: Path, tmp_path: Path, format: str) -> None:
    source = turned
    if format != "folder":
        source = tmp_path / "packed"
        fdconvert.pack(turned, source, format=format)
    dataset = fdconvert.Dataset(source, orient=True)
    assert len(dataset) == 5
    for sample in dataset:
        image = np.asarray(sample["image"])
        assert image.shape == (64, 32, 3) and is_upright(image)
    loader = fdconvert.Loader(source, batch_size=5, transform=SMALL, sampling=fdconvert.Sequential())
    for images, _ in loader:
        assert all(is_upright(np.asarray(image)) for image in images)


@pytest.mark.filterwarnings("ignore:.*more than 8 bits")
@pytest.mark.parametrize("format", ["folder", *FORMATS])
def test_avif_and_jpeg_xl_are_loaded_as_others_show_them(tmp_path: Path, format: str) -> None:
    names = ["444-full.avif", "turned-6.avif", "10-bits.avif", "lossy.jxl", "jpeg.jxl"]
    source, seen = tmp_path / "photos", tmp_path / "seen"
    for folder, ending in [(source, ""), (seen, ".png")]:
        (folder / "a").mkdir(parents=True)
        for name in names:
            data = (CODECS / f"{name}{ending}").read_bytes()
            (folder / "a" / f"{name}{ending}").write_bytes(data)
            levels = np.asarray(fdconvert.decode(data, orient=True)).astype(int)
            shown = np.asarray(fdconvert.decode((CODECS / f"{name}.png").read_bytes())).astype(int)
            assert np.abs(levels - shown).max() <= 1, name
    if format != "folder":
        packed, source = source, tmp_path / "packed"
        fdconvert.pack(packed, source, format=format)
        fdconvert.verify(source, deep=True)
    order = fdconvert.Sequential()
    loaders = [
        fdconvert.Loader(folder, batch_size=5, transform=SMALL, sampling=order)
        for folder in (source, seen)
    ]
    for (images, _), (due, _) in zip(*loaders, strict=True):
        both = zip(np.asarray(images), np.asarray(due), sorted(names), strict=True)
        for image, other, name in both:
            difference = np.abs(image.astype(int) - other.astype(int))
            assert difference.max() <= 2, name


def test_a_mask_is_turned_as_its_image(tmp_path: Path) -> None:
    images, masks = tmp_path / "images", tmp_path / "masks"
    images.mkdir()
    masks.mkdir()
    pixels = np.zeros((32, 64, 3), np.uint8)
    pixels[:, :32, 0] = pixels[:, 32:, 2] = 255
    levels = np.where(np.arange(64) < 32, 1, 2)[None].repeat(32, 0)
    for name, kind in [("8", np.uint8), ("16", np.uint16)]:
        (images / f"{name}.png").write_bytes(png(pixels, EXIF))
        (masks / f"{name}.png").write_bytes(png(levels.astype(kind), EXIF))
        out = tmp_path / f"{name}.wds"
        fdconvert.pack(images, out, format="wds", pair={"mask": masks})
        loader = fdconvert.Loader(
            out, batch_size=1, transform=SMALL, sampling=fdconvert.Sequential(), label=None, masks=["mask"]
        )
        for batch in loader.batches():
            mask = np.asarray(batch.fields["mask"])[0]
            assert (mask[:12] == 1).all() and (mask[-12:] == 2).all()
        (images / f"{name}.png").unlink()
        (masks / f"{name}.png").unlink()


def test_more_than_8_bits_are_rounded_with_a_warning(tmp_path: Path) -> None:
    pixels = (np.arange(32 * 32 * 3).reshape(32, 32, 3) * 21).astype(np.uint16)
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "x.png"
    file.write_bytes(png(pixels))
    with pytest.warns(RuntimeWarning, match="more than 8 bits per channel are rounded"):
        decoded = np.asarray(fdconvert.decode(file.read_bytes()))
    assert np.array_equal(decoded, np.round(pixels / 257).astype(np.uint8))
    with pytest.warns(RuntimeWarning, match="rounded"):
        fdconvert.Dataset(tmp_path)[0]
    loader = fdconvert.Loader(tmp_path, batch_size=1, transform=SMALL, sampling=fdconvert.Sequential())
    with pytest.warns(RuntimeWarning, match="rounded") as told:
        for _ in range(2):
            list(loader)
    assert len(told) == 1
    assert loader.stats()["rounded"] == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fdconvert.decode(png(np.zeros((2, 2, 3), np.uint8)))


def test_bands_in_tiffs_are_named_with_the_cures_which_work(tmp_path: Path) -> None:
    bands = np.arange(4 * 6 * 13, dtype=np.uint16).reshape(4, 6, 13)
    folder = tmp_path / "bands"
    folder.mkdir()
    file = folder / "bands.tif"
    file.write_bytes(tiff(bands, 1))
    cure = r'keep the file \(any format except mixed\), and read it with the loader\'s Bands\(13, "u16"\)'
    with pytest.raises(fdconvert.DataError, match=cure):
        fdconvert.decode(file.read_bytes())
    report = fdconvert.pack(folder, tmp_path / "kept.wds", format="wds")
    assert report["notes"]["bands-kept"] == 1
    schema = {"x": ("uint16", (4, 6, 13))}
    fdconvert.pack({"x": bands[None]}, tmp_path / "arrays.wds", format="wds", schema=schema)
    assert np.array_equal(np.asarray(fdconvert.Dataset(tmp_path / "arrays.wds")[0]["x"]), bands)
