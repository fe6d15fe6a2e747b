"""Images of bands: more than 8 bits, floats and many channels, through every format to the rows."""

import io
import zlib
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Loader
from fdconvert import transforms as T

tifffile = pytest.importorskip("tifffile", reason="tifffile is not installed")
imagecodecs = pytest.importorskip("imagecodecs", reason="imagecodecs is not installed")
PIL = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

KEPT = ["set.wds", "set.mds", "set.parquet", "set.beton", "set"]
NAMES = {"u8": "uint8", "u16": "uint16", "i16": "int16", "f32": "float32"}
SIZE = (37, 53)
TIFFS = list(product([False, True], [None, (16, 32)], [None, "deflate", "lzw", "zstd"]))


def values(dtype: str, n: int, seed: int) -> Any:
    """An image of this type that is as smooth and as rough as real ones."""
    noise = np.random.default_rng(seed)
    ramp = np.linspace(0, 1, SIZE[1])[None, :, None] * np.linspace(0.2, 1, n)
    made = ramp + noise.normal(0, 0.01, (*SIZE, n))
    if dtype == "f32":
        return made.astype(np.float32)
    info = np.iinfo(NAMES[dtype])
    return np.clip(made * info.max, info.min, info.max).astype(NAMES[dtype])


def variants(dtype: str, n: int) -> list[dict[str, Any]]:
    """The arguments of tifffile for each way to store bands."""
    found = []
    for is_planar, tile, compression in TIFFS:
        predictors = [1] if compression is None else [1, 2] if dtype != "f32" else [1, 3]
        for predictor, order in product(predictors, "<>"):
            planes: dict[str, Any] = {"planarconfig": "separate" if is_planar else "contig"} if n > 1 else {}
            if not (is_planar and n == 1):
                kind: dict[str, Any] = {
                    "tile": tile, "compression": compression, "predictor": predictor,
                    "byteorder": order, "rowsperstrip": None if tile else 10,
                }
                found.append(kind | planes)
    return found


def tiff(image: Any, variant: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    variant = dict(variant)
    order = variant.pop("byteorder")
    is_planar = variant.get("planarconfig") == "separate"
    stored = np.moveaxis(image, 2, 0) if is_planar else image
    stored = stored[..., 0] if image.shape[2] == 1 else stored
    with tifffile.TiffWriter(file, byteorder=order) as writer:
        writer.write(stored, photometric="minisblack", metadata=None, **variant)
    return file.getvalue()


def folder_of(path: Path, files: dict[str, bytes]) -> Path:
    (path / "class").mkdir(parents=True)
    for name, content in files.items():
        (path / "class" / name).write_bytes(content)
    return path


def rows(path: Path, transform: list[T.Transform], **options: Any) -> Any:
    loader = Loader(
        path, 4, sampling=fdconvert.Sequential(), transform=transform, threads=2, output="numpy", **options
    )
    return np.concatenate([np.array(images) for images, _ in loader])


def stored(path: Path) -> list[bytes]:
    dataset = fdconvert.Dataset(path)
    return [dataset.get(number)["image"]["bytes"] for number in range(len(dataset))]


@pytest.mark.parametrize(("dtype", "n"), list(product(NAMES, [1, 3, 4, 13])))
def test_every_kind_of_tiff_keeps_its_values_in_every_format(dtype: str, n: int, tmp_path: Path) -> None:
    kinds = variants(dtype, n)
    images = [values(dtype, n, number) for number in range(len(kinds))]
    files = {f"{at:03}.tif": tiff(image, kind) for at, (image, kind) in enumerate(zip(images, kinds))}
    source = folder_of(tmp_path / "source", files)
    top, left, height, width = 5, 7, 21, 33
    # A centred crop is NumPy's slice.
    top, left = round((SIZE[0] - height) / 2), round((SIZE[1] - width) / 2)
    expected = np.stack(images)[:, top : top + height, left : left + width]
    for name in KEPT:
        if dtype == "u8" and n == 1 and name == "set.beton":
            # Gray of 8 bits is a picture, which a beton holds as pixels.
            continue
        out = tmp_path / name
        fdconvert.pack(source, out, check="pixels")
        assert stored(out) == list(files.values()), name
        crop = [T.Bands(n, dtype), T.CenterCrop([height, width])]
        found = rows(out, crop)
        assert found.dtype == NAMES[dtype]
        np.testing.assert_array_equal(found, expected)
        flipped = rows(out, [*crop, T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0), T.ToLayout("nchw")])
        np.testing.assert_array_equal(flipped, np.moveaxis(expected[:, ::-1, ::-1], 3, 1))
    mean, std = np.arange(n) * 7.5, np.arange(n) + 0.5
    numbers = rows(out, [*crop, T.Normalize(mean.tolist(), std.tolist())])
    exact = (expected.astype(np.float32) - mean.astype(np.float32)) / std.astype(np.float32)
    np.testing.assert_array_equal(numbers, exact)


def weights(length: int, made: int) -> Any:
    """The triangle filter, antialiased: a row of weights for each pixel that is made."""
    step = length / made
    reach = max(step, 1.0)
    centres = (np.arange(made) + 0.5) * step
    found = np.maximum(0, 1 - np.abs((np.arange(length) + 0.5 - centres[:, None]) / reach))
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", list(NAMES))
def test_resizes_are_the_antialiased_bilinear_one(dtype: str, tmp_path: Path) -> None:
    images = [values(dtype, 4, number) for number in range(3)]
    kind = {"byteorder": "<", "compression": "deflate", "tile": (16, 16), "planarconfig": "contig"}
    files = {f"{number}.tif": tiff(image, kind) for number, image in enumerate(images)}
    out = tmp_path / "set.wds"
    fdconvert.pack(folder_of(tmp_path / "source", files), out)
    for size in [(20, 30), (64, 80), (37, 20)]:
        down, across = weights(SIZE[0], size[0]), weights(SIZE[1], size[1])
        exact = np.einsum("yh,nhwc,xw->nyxc", down, np.stack(images).astype(np.float64), across)
        list_ = [T.Bands(4, dtype), T.Resize(list(size)), T.ToDtype("f32")]
        scale = 1.0 if dtype == "f32" else float(np.iinfo(NAMES[dtype]).max)
        np.testing.assert_allclose(rows(out, list_), exact, rtol=2e-6, atol=2e-6 * scale)
        if dtype != "f32":
            found = rows(out, list_[:2]).astype(np.float64)
            assert np.abs(found - exact).max() <= 0.51
    # Outside the image there is 0.
    letter = rows(out, [T.Bands(4, dtype), T.Letterbox([80, 80])])
    assert (letter[:, 0] == 0).all() and (letter[:, 40] != 0).any()


def test_gdal_writes_the_same(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio", reason="rasterio is not installed")
    for dtype, n, predictor in [("u16", 13, 2), ("f32", 4, 3), ("f32", 4, 2), ("i16", 1, 2), ("u8", 4, 1)]:
        image = values(dtype, n, 5)
        files = {}
        for tiled, interleave, compress in product([False, True], ["pixel", "band"], ["none", "deflate", "lzw"]):
            path = tmp_path / "made.tif"
            kind = {"blockxsize": 16, "blockysize": 16} if tiled else {}
            with rasterio.open(
                path, "w", driver="GTiff", height=SIZE[0], width=SIZE[1], count=n, dtype=NAMES[dtype], tiled=tiled,
                interleave=interleave, compress=compress, photometric="MINISBLACK",
                predictor=1 if compress == "none" else predictor, **kind,
            ) as file:
                file.write(np.moveaxis(image, 2, 0))
            files[f"{tiled}-{interleave}-{compress}.tif"] = path.read_bytes()
        out = tmp_path / f"{dtype}-{n}-{predictor}.wds"
        fdconvert.pack(folder_of(tmp_path / f"{dtype}-{n}-{predictor}", files), out)
        for row in rows(out, [T.Bands(n, dtype), T.CenterCrop(list(SIZE))]):
            np.testing.assert_array_equal(row, image)


def test_a_tomogram_of_12_bits_keeps_its_levels_in_every_format(tmp_path: Path) -> None:
    levels = np.arange(4096, dtype=np.uint16).reshape(64, 64)
    file = io.BytesIO()
    PIL.fromarray(levels).save(file, "PNG")
    source = folder_of(tmp_path / "source", {f"{number}.png": file.getvalue() for number in range(3)})
    for name in [*KEPT, "set.mixed"]:
        out = tmp_path / name
        options: dict[str, Any] = {"format": "mixed", "ratio": 0.5} if name == "set.mixed" else {}
        fdconvert.pack(source, out, **options)
        assert stored(out) == [file.getvalue()] * 3, name
        found = rows(out, [T.Bands(1, "u16"), T.CenterCrop([64, 64])])
        assert all((row[..., 0] == levels).all() for row in found), name
        # Without Bands they are rounded, and counted.
        assert rows(out, [T.CenterCrop([64, 64])]).dtype == np.uint8


def test_bands_are_refused_where_they_are_not(tmp_path: Path) -> None:
    kind = {"byteorder": "<", "planarconfig": "contig"}
    source = folder_of(tmp_path / "source", {"a.tif": tiff(values("u16", 13, 1), kind)})
    out = tmp_path / "set.wds"
    report = fdconvert.pack(source, out)
    assert report["notes"]["bands-kept"] == 1
    assert report["bands"] == {"key": "class/a.tif", "n": 13, "dtype": "uint16"}
    assert not fdconvert.verify(out, deep=True)["problems"]
    with pytest.raises(fdconvert.DataError, match=r'has Bands\(13, "u16"\), and the list .* Bands\(4, "u16"\)'):
        rows(out, [T.Bands(4, "u16"), T.CenterCrop(20)])
    with pytest.raises(fdconvert.DataError, match=r'the loader\'s Bands\(13, "u16"\)'):
        rows(out, [T.CenterCrop(20)])
    refused: list[tuple[list[T.Transform], str]] = [
        ([T.Bands(33, "u16")], "not 1 to 32"),
        ([T.Bands(3, "f16")], "not 1 to 32 of u8, u16, i16 or f32"),
        ([T.Bands(13, "u16"), T.ColorJitter(0.5)], "ColorJitter is for RGB"),
        ([T.Bands(13, "u16"), T.ToDtype("i16")], "integers are those that are stored"),
        ([T.Bands(13, "u16"), T.Normalize([0.5] * 3, [1.0] * 3)], "each of 13 bands"),
        ([T.ToDtype("u16")], r'Bands\(n, "u16"\)'),
    ]
    for wrong, words in refused:
        with pytest.raises(fdconvert.UsageError, match=words):
            rows(out, [*wrong[:1], T.CenterCrop(20), *wrong[1:]] if "Bands" in str(wrong[0].spec) else wrong)


def whole(n: int, dtype: str = "u16") -> list[T.Transform]:
    return [T.Bands(n, dtype), T.CenterCrop(list(SIZE))]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_pngs_of_16_bits_have_their_channels(n: int, tmp_path: Path) -> None:
    image = values("u16", n, 3)
    content = imagecodecs.png_encode(image if n > 1 else image[..., 0])
    fdconvert.pack(folder_of(tmp_path / "source", {"a.png": content}), tmp_path / "set.wds")
    np.testing.assert_array_equal(rows(tmp_path / "set.wds", whole(n))[0], image)


def test_a_level_that_stands_for_transparency_is_a_level(tmp_path: Path) -> None:
    image = values("u16", 1, 3)
    plain = imagecodecs.png_encode(image[..., 0])
    chunk = b"tRNS" + (7).to_bytes(2, "big")
    chunk = (2).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
    # After the header: a signature of 8 bytes, and a chunk of 13.
    content = plain[:33] + chunk + plain[33:]
    fdconvert.pack(folder_of(tmp_path / "source", {"a.png": content}), tmp_path / "set.wds")
    np.testing.assert_array_equal(rows(tmp_path / "set.wds", whole(1))[0], image)


def test_pictures_of_8_bits_have_the_bands_that_they_are_decoded_to(tmp_path: Path) -> None:
    image = values("u8", 3, 4)
    file = io.BytesIO()
    PIL.fromarray(image).save(file, "JPEG", quality=90, subsampling=2)
    fdconvert.pack(folder_of(tmp_path / "source", {"a.jpg": file.getvalue()}), tmp_path / "set.wds")
    crop: list[T.Transform] = [T.CenterCrop([19, 23]), T.RandomHorizontalFlip(1.0)]
    found = rows(tmp_path / "set.wds", [T.Bands(3, "u8"), *crop])
    np.testing.assert_array_equal(found, rows(tmp_path / "set.wds", crop))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_bands_are_turned_upright(orientation: int, tmp_path: Path) -> None:
    image = values("u16", 5, 6)
    kind = {"byteorder": "<", "planarconfig": "contig", "extratags": [(274, "H", 1, orientation, True)]}
    fdconvert.pack(folder_of(tmp_path / "source", {"a.tif": tiff(image, kind)}), tmp_path / "set.wds")
    upright = image.swapaxes(0, 1) if orientation >= 5 else image
    upright = upright[:, ::-1] if orientation in (2, 3, 6, 7) else upright
    upright = upright[::-1] if orientation in (3, 4, 7, 8) else upright
    crop: list[T.Transform] = [T.Bands(5), T.CenterCrop([21, 17])]
    top, left = round((upright.shape[0] - 21) / 2), round((upright.shape[1] - 17) / 2)
    found = rows(tmp_path / "set.wds", crop)[0]
    np.testing.assert_array_equal(found, upright[top : top + 21, left : left + 17])


def test_what_is_drawn_has_no_bands() -> None:
    with pytest.raises(fdconvert.UsageError, match="a recipe draws RGB"):
        Loader("fractal:svd?classes=2", 2, transform=[T.Bands(1, "u8"), T.CenterCrop(32)])
