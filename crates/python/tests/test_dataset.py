"""The map-style dataset: what Python expects of a sequence, and what processes do to it."""

import gc
import io
import multiprocessing
import os
import pickle
import shutil
import tarfile
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Array, Dataset


def width_and_label(sample: dict[str, Any]) -> tuple[int, int]:
    return sample["image"].shape[1], sample["label"]


def total(args: tuple[Dataset, list[int]]) -> int:
    dataset, indices = args
    samples = dataset.__getitems__(indices)
    return sum(int(np.asarray(sample["image"]).sum()) for sample in samples)


def test_it_is_a_sequence(beton: Path) -> None:
    dataset = Dataset(beton)
    assert len(dataset) == 12
    assert len(list(dataset)) == 12
    assert dataset[-1]["label"] == dataset[11]["label"] == 1
    assert dataset[np.int64(3)]["label"] == dataset[3]["label"]
    assert [sample["label"] for sample in dataset[4:8]] == [0, 0, 1, 1]
    assert [sample["label"] for sample in dataset[::-5]] == [1, 1, 0]
    assert dataset[5:5] == [] == dataset[20:] == dataset.__getitems__([])
    with pytest.raises(TypeError, match=r"not by list; for several samples write \[dataset\[i\]"):
        dataset[[0, 1]]  # type: ignore[call-overload]
    for index in [12, -13, 2**70, -(2**70)]:
        with pytest.raises(IndexError):
            dataset[index]
    with pytest.raises(IndexError):
        dataset.__getitems__([0, 12])
    for wrong in ["0", 1.0, None]:
        with pytest.raises(TypeError):
            dataset[wrong]  # type: ignore[call-overload]


def test_fields_classes_keys_and_labels(beton: Path, tmp_path: Path) -> None:
    dataset = Dataset(str(beton))
    assert [field["name"] for field in dataset.schema["fields"]] == ["image", "label"]
    assert dataset.schema == fdconvert.inspect(beton)["schema"]
    assert dataset.classes == ["even", "odd"]
    assert dataset.labels() == [0] * 6 + [1] * 6
    assert dataset.key(0) == "even/PhotoCD_PCD0992_01.png"
    assert dataset.path == str(beton)
    assert repr(dataset) == f"fdconvert.Dataset({str(beton)!r}, samples=12)"
    shutil.copytree(beton.parents[0], tmp_path / "flat" / "copy")
    photo = fdconvert.unpack(beton, tmp_path / "back")
    assert photo["samples"] == 12
    flat = tmp_path / "one"
    flat.mkdir()
    shutil.copy(next((tmp_path / "back").rglob("*.jpg")), flat / "a.jpg")
    fdconvert.pack(flat, tmp_path / "one.beton")
    alone = Dataset(tmp_path / "one.beton")
    assert alone.classes is None
    assert alone.labels() is None


def test_pixels_are_those_of_the_image(photos: Path, tmp_path: Path) -> None:
    packed = tmp_path / "raw.beton"
    fdconvert.pack(photos, packed, encode="raw")
    png, raw = Dataset(photos), Dataset(packed)
    for index in (0, 7):
        expected = np.asarray(png[index]["image"])
        assert expected.ndim == 3 and expected.shape[2] == 3 and expected.dtype == np.uint8
        stored = raw.get(index)["image"]
        assert stored["codec"] == "raw"
        assert stored["bytes"] == expected.tobytes() == raw[index]["image"].tobytes()
        assert (stored["height"], stored["width"]) == expected.shape[:2]


def test_stored_images(beton: Path) -> None:
    stored = Dataset(beton).get(2)["image"]
    assert sorted(stored) == ["bytes", "codec", "height", "width"]
    assert stored["codec"] == "jpeg" and type(stored["bytes"]) is bytes
    assert stored["bytes"][:2] == b"\xff\xd8"
    assert Dataset(beton, decode=None)[2]["image"] == stored
    # The transform is for samples, not for what is stored.
    assert Dataset(beton, transform=len).get(2)["image"] == stored


def test_several_at_once_are_the_same_in_order(beton: Path) -> None:
    indices = [7, 0, 7, -1, 3] * 100
    one, many = Dataset(beton, threads=1), Dataset(beton, threads=5)
    for left, right in zip(one.__getitems__(indices), many.__getitems__(indices), strict=True):
        assert left["label"] == right["label"]
        assert left["image"].tobytes() == right["image"].tobytes()


def test_a_transform_sees_every_sample(beton: Path) -> None:
    dataset = Dataset(beton, transform=width_and_label)
    assert dataset[0] == (96, 0)
    assert dataset[:2] == dataset.__getitems__([0, 1]) == [(96, 0), (96, 0)]

    def broken(sample: dict[str, Any]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Dataset(beton, transform=broken)[0]
    with pytest.raises(TypeError):
        Dataset(beton, transform=3)  # type: ignore[arg-type]


def test_other_fields(photos: Path, tmp_path: Path) -> None:
    names = sorted(path.relative_to(photos) for path in photos.rglob("*.png"))
    rows = [f"{name},{n % 3},{n / 4},photo {n}" for n, name in enumerate(names)]
    table = tmp_path / "labels.csv"
    table.write_text("path,label,score,caption\n" + "\n".join(rows) + "\n")
    packed = tmp_path / "table.beton"
    fdconvert.pack(photos, packed, labels=table, max_side=32, jpeg_quality=80)
    sample = Dataset(packed)[3]
    assert (sample["label"], sample["score"], sample["caption"]) == (0, 0.75, "photo 3")


def test_json_and_arrays(tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    with tarfile.open(shards / "a.tar", "w") as tar:
        for n in range(2):
            for name, text in [(f"{n}.json", f'{{"n": [{n}, 1.5]}}'), (f"{n}.txt", f"text {n}")]:
                info = tarfile.TarInfo(name)
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
    sample = Dataset(shards)[1]
    assert sample["json"] == {"n": [1, 1.5]}
    assert sample["txt"] == "text 1"


def test_arrays_are_viewed_without_a_copy(beton: Path) -> None:
    array = Dataset(beton)[0]["image"]
    assert isinstance(array, Array)
    assert (array.shape, array.dtype, array.ndim) == ((64, 96, 3), "uint8", 3)
    assert (len(array), array.nbytes) == (64, 64 * 96 * 3)
    assert repr(array) == "fdconvert.Array(shape=(64, 96, 3), dtype='uint8')"
    by_buffer = np.asarray(array)
    by_dlpack = np.from_dlpack(array)

    class Interface:
        __array_interface__ = array.__array_interface__
        keep = array

    by_interface = np.asarray(Interface())
    by_view = memoryview(array)
    assert by_view.format == "B" and by_view.shape == array.shape and by_view.c_contiguous
    for view in (by_buffer, by_dlpack, by_interface):
        assert view.shape == array.shape and view.dtype == np.uint8
        assert view.ctypes.data == by_buffer.ctypes.data
    by_buffer[1, 2, 0] = 77
    by_buffer[1, 2, 1] = 78
    assert by_view[1, 2, 0] == by_interface[1, 2, 0] == by_dlpack[1, 2, 0] == 77
    assert bytes(by_view) == array.tobytes() == by_buffer.tobytes()
    copied = array.__dlpack__(copy=True)
    assert "dltensor" in repr(copied)
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(2, 0))
    assert array.__dlpack_device__() == (1, 0)


def test_views_keep_the_memory_alive(beton: Path) -> None:
    for view_of in (np.asarray, np.from_dlpack, memoryview):
        array = Dataset(beton)[0]["image"]
        expected, alive = array.tobytes(), weakref.ref(array)
        view = view_of(array)
        del array
        gc.collect()
        assert alive() is not None
        assert bytes(view) == expected
        del view
        gc.collect()
        assert alive() is None
    # A capsule that no one consumes frees what it holds, too.
    array = Dataset(beton)[0]["image"]
    alive = weakref.ref(array)
    capsules = [array.__dlpack__(), array.__dlpack__(max_version=(1, 1))]
    del array
    assert alive() is not None
    del capsules
    gc.collect()
    assert alive() is None


def test_arrays_of_every_type() -> None:
    names = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
    for name in [*names, "float16", "float32", "float64", "complex64", "complex128"]:
        expected = np.arange(12).reshape(3, 4).astype(name)
        array = Array(expected.tobytes(), (3, 4), name)
        for view in (np.asarray(array), np.from_dlpack(array)):
            assert view.dtype == expected.dtype and view.flags.aligned
            np.testing.assert_array_equal(view, expected)
        np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(array))), expected)
    assert np.asarray(Array(b"", (0, 3), "uint8")).shape == (0, 3)
    assert np.asarray(Array(b"\x05\0\0\0", (), "int32")) == 5
    with pytest.raises(ValueError):
        Array(b"123", (2, 2), "uint8")
    with pytest.raises(TypeError):
        Array(b"123", (3,), "text")


def test_pickled_it_is_the_same_dataset(
    beton: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(beton.parent)
    dataset = Dataset(beton.name, transform=width_and_label, threads=1, max_pixels=10**6)
    dumps = [pickle.dumps(dataset, protocol) for protocol in range(2, 6)]
    monkeypatch.chdir(tmp_path)
    for dump in dumps:
        again = pickle.loads(dump)
        assert again[:] == dataset[:]
        assert again.__getnewargs_ex__() == dataset.__getnewargs_ex__()


def test_a_recipe_is_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = "fractal:svd?classes=2&instances=3&points=2000&size=40"
    fdconvert.pack(recipe, tmp_path / "x.formula")
    file, dataset = Dataset(tmp_path / "x.formula"), Dataset(recipe)
    assert (len(dataset), dataset.classes) == (6, file.classes)
    assert dataset.labels() == [0, 0, 0, 1, 1, 1]
    for one, other in zip(dataset, file, strict=True):
        assert one["image"].shape == (40, 40, 3)
        np.testing.assert_array_equal(one["image"], other["image"])
        assert (one["label"], one["meta"]) == (other["label"], other["meta"])
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(pickle.dumps(dataset))
    assert (again.path, len(again)) == (recipe, 6)
    assert fdconvert.inspect(recipe)["samples"] == 6
    assert fdconvert.verify(recipe)["problems"] == []

    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "00000.csv").write_text("0.5,0,0,0.5,0,0,0.5\n0.5,0,0,0.5,1,1,0.5\n")
    assert Dataset("fractal:csv?path=csv&size=40").classes == ["00000"]


def test_recipes_are_opened_on_both_sides_of_a_fork() -> None:
    recipe = "fractal:fractaldb?classes=2&instances=100&size=40&points=500&category_seed=3&rate=0.05"
    expected = Dataset(recipe).get(7)
    child = os.fork()
    if child == 0:
        os._exit(0 if Dataset(recipe).get(7) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_may_share_it(beton: Path, method: str) -> None:
    dataset = Dataset(beton, threads=3)
    batches = [[0, 1, 2], [11, 5], [7] * 9]
    expected = [total((dataset, batch)) for batch in batches]
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(total, [(dataset, batch) for batch in batches])
        assert found.get(timeout=60) == expected


def test_a_child_that_inherits_it_can_read_and_pack(beton: Path, tmp_path: Path) -> None:
    """Nothing is left of the threads of the parent, so the child lacks none."""
    dataset = Dataset(beton, threads=4)
    expected = total((dataset, list(range(12))))
    fdconvert.pack("fractal:fractaldb?classes=2&instances=100", tmp_path / "a.beton", jpeg_quality=80)
    until = time.monotonic() + 10
    while len(os.listdir("/proc/self/task")) > 1 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/task")) == 1
    child = os.fork()
    if child == 0:
        same = total((dataset, list(range(12)))) == expected
        fdconvert.pack("fractal:fractaldb?classes=2&instances=100", tmp_path / "b.beton", jpeg_quality=80)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (tmp_path / "a.beton").read_bytes() == (tmp_path / "b.beton").read_bytes()


def test_torch_data_loader_takes_batches(beton: Path) -> None:
    data = pytest.importorskip("torch.utils.data", reason="torch is not installed")
    dataset = Dataset(beton, transform=width_and_label)
    for n_workers in (0, 2):
        loader = data.DataLoader(dataset, batch_size=5, num_workers=n_workers)
        labels = [label for _, batch in loader for label in batch.tolist()]
        assert labels == dataset.labels()


def test_what_cannot_be_opened(tmp_path: Path, beton: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        Dataset(tmp_path / "missing.beton")
    assert missing.value.filename == str(tmp_path / "missing.beton")
    (tmp_path / "text").write_text("text")
    with pytest.raises(fdconvert.UsageError, match="not one of"):
        Dataset(tmp_path / "text")
    damaged = tmp_path / "damaged.beton"
    damaged.write_bytes(beton.read_bytes()[:5000])
    with pytest.raises(fdconvert.DataError, match="damaged.beton"):
        Dataset(damaged)
    with pytest.raises(ValueError, match="decode"):
        Dataset(beton, decode="bgr")
    with pytest.raises(ValueError, match="threads"):
        Dataset(beton, threads=0)
    small = Dataset(beton, max_pixels=100)
    with pytest.raises(fdconvert.DataError, match="even/PhotoCD_PCD0992_01.png"):
        small[0]
    with pytest.raises(fdconvert.DataError):
        small[:]


def test_damaged_samples_are_refused(beton: Path, tmp_path: Path) -> None:
    content = bytearray(beton.read_bytes())
    image = Dataset(beton).get(4)["image"]["bytes"]
    content[content.index(image) + len(image) // 2] ^= 1
    damaged = tmp_path / "damaged.beton"
    damaged.write_bytes(content)
    dataset = Dataset(damaged)
    assert dataset[3]["label"] == Dataset(beton)[3]["label"]
    with pytest.raises(fdconvert.DataError, match="checksum"):
        dataset[4]
    with pytest.raises(fdconvert.DataError, match="checksum"):
        pickle.loads(pickle.dumps(dataset)).get(4)
    assert Dataset(damaged, verify=False).get(4)["image"]["bytes"] != image
