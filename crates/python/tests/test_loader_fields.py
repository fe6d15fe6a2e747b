"""Fields next to images and labels: what the dataset has, in the kinds that Python expects."""

import io
import json
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fdconvert
from fdconvert import Dataset, Loader
from loading import small

NAMES = ["caption", "meta", "blob.bin", "vector", "label"]


@pytest.fixture(scope="module")
def shards(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photos as a tar of others, with a member of every kind for each."""
    folder = tmp_path_factory.mktemp("fields")
    with tarfile.open(folder / "00000.tar", "w") as tar:
        for number, file in enumerate(sorted(photos.rglob("*.png"))):
            vector = io.BytesIO()
            np.save(vector, np.arange(3, dtype=np.float32) + number)
            members = {
                "png": file.read_bytes(),
                "caption.txt": f"photo {number} ä".encode(),
                "meta.json": json.dumps({"number": number}).encode(),
                "blob.bin": bytes([number] * number),
                "vector.npy": vector.getvalue(),
                "label.cls": str(number % 3).encode(),
            }
            for name, content in members.items():
                info = tarfile.TarInfo(f"{number:04}.{name}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return folder


@pytest.fixture(scope="module", params=["tar", "beton", "mds"])
def dataset(request: Any, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in each format."""
    if request.param == "tar":
        return shards
    out = tmp_path_factory.mktemp("packed") / f"x.{request.param}"
    fdconvert.pack(shards, out, format=request.param, jpeg_quality=90, max_side=96)
    return out


def test_every_kind_is_what_the_dataset_says(dataset: Path) -> None:
    expected = Dataset(dataset, decode=None)
    loader = small(dataset, 5, fields=NAMES, label=None)
    numbers = []
    for batch in loader.batches():
        assert list(batch.fields) == NAMES and batch.labels is None
        vectors, labels = batch.fields["vector"], batch.fields["label"]
        assert vectors.shape == (len(batch), 3) and vectors.dtype == np.float32
        assert labels.dtype == np.int64
        for row, number in enumerate(batch.samples.tolist()):
            sample = expected[number]
            assert batch.fields["caption"][row] == sample["caption"]
            assert json.loads(batch.fields["meta"][row]) == sample["meta"] == {"number": number}
            assert batch.fields["blob.bin"][row] == sample["blob.bin"] == bytes([number] * number)
            assert (vectors[row] == np.asarray(sample["vector"])).all()
            assert labels[row] == sample["label"]
            numbers.append(number)
    assert sorted(numbers) == list(range(12))
    assert loader.stats()["fields_left_out"] == []


def test_floats_are_float64(photos: Path, tmp_path: Path) -> None:
    files = sorted(file.relative_to(photos) for file in photos.rglob("*.png"))
    lines = [f"{file},{number / 8},{number}" for number, file in enumerate(files)]
    (tmp_path / "labels.csv").write_text("\n".join(["path,score,id", *lines]) + "\n")
    out = tmp_path / "x.beton"
    fdconvert.pack(photos, out, labels=tmp_path / "labels.csv", jpeg_quality=90, max_side=96)
    for images, labels, fields in small(out, fields=["score"], label="id"):
        assert len(images) == len(labels) and list(fields) == ["score"]
        assert fields["score"].dtype == np.float64
        assert (fields["score"] == labels / 8).all()


def test_a_loop_unpacks_what_was_asked_for(shards: Path) -> None:
    for images, labels in small(shards, 12):
        assert len(images) == len(labels) == 12
    assert next(small(shards).batches()).fields == {}
    assert small(shards).stats()["fields_left_out"] == NAMES[:-1]
    images, labels, fields = next(iter(small(shards, fields=("caption",), output="array")))
    assert isinstance(images, fdconvert.Array) and isinstance(fields["caption"], list)
    array = next(iter(small(shards, fields=["vector"], output="array")))[2]["vector"]
    assert isinstance(array, fdconvert.Array) and array.shape == (4, 3)


def test_a_restored_loader_goes_on_with_its_fields(shards: Path) -> None:
    loader = small(shards, fields=["caption"])
    batches = iter(loader)
    next(batches)
    restored = pickle.loads(pickle.dumps(loader))
    rest = [fields["caption"] for _, _, fields in restored]
    assert rest == [fields["caption"] for _, _, fields in batches] and len(rest) == 2


def test_rows_without_a_sample_have_none_of_the_values(shards: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "00000.tar"
    with tarfile.open(shards / "00000.tar") as tar, tarfile.open(damaged, "w") as copy:
        for info in tar:
            member = tar.extractfile(info)
            assert member is not None
            content = member.read()
            if info.name == "0004.png":
                content = content[:400]
                info.size = len(content)
            copy.addfile(info, io.BytesIO(content))
    batch = next(Loader(tmp_path, 12, errors=fdconvert.Skip(), output="numpy", fields=NAMES).batches())
    (row,) = np.flatnonzero(~batch.valid)
    assert [batch.fields[name][row] for name in NAMES[:3]] == ["", b"", b""]
    assert not batch.fields["vector"][row].any() and batch.fields["label"][row] == 0
    assert batch.fields["vector"].any(axis=1).sum() == 11


def test_what_cannot_be_asked_for_is_said(shards: Path) -> None:
    with pytest.raises(TypeError, match=r"fields: give a list"):
        small(shards, fields="caption")
    with pytest.raises(ValueError, match=r"fields: .*has no field `captions`.*`caption` \(text\)"):
        small(shards, fields=["captions"])
    with pytest.raises(ValueError, match=r"fields: `image` of .* is the image"):
        small(shards, fields=["image"])


def test_torch_has_tensors_and_lists(shards: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    dataset = fdconvert.TorchIterable(shards, 4, fields=["vector", "caption"])
    for images, labels, fields in torch.utils.data.DataLoader(dataset, batch_size=None):
        assert images.shape[0] == labels.shape[0] == 4
        assert fields["vector"].dtype == torch.float32 and fields["vector"].shape == (4, 3)
        assert all(isinstance(caption, str) for caption in fields["caption"])


def test_further_images_of_a_beton_are_files_that_follow(photos: Path, tmp_path: Path) -> None:
    shard, beton = tmp_path / "pairs.tar", tmp_path / "pairs.beton"
    files = sorted(photos.rglob("*.png"))[:6]
    with tarfile.open(shard, "w") as tar:
        for number, file in enumerate(files):
            for name in ["png", "right.png"]:
                tar.add(file, f"{number}.{name}")
    fdconvert.pack(shard, beton)
    stored = Dataset(beton, decode=None)
    assert [bytes(stored[at]["right"]["bytes"]) for at in range(6)] == [
        file.read_bytes() for file in files
    ]

    def batches(dataset: Path) -> Any:
        transform = [fdconvert.transforms.RandomResizedCrop((24, 24))]
        loader = Loader(dataset, 6, label=None, fields=["right"], transform=transform)
        return [(images.copy(), fields["right"].copy()) for images, _, fields in loader]

    for ours, theirs in zip(batches(beton), batches(shard), strict=True):
        assert np.array_equal(ours[0], theirs[0]) and np.array_equal(ours[1], theirs[1])
        assert np.array_equal(ours[0], ours[1])


def test_lists_of_numbers_are_values_and_offsets(tmp_path: Path) -> None:
    rows = [[1, -2, 3], [], [2**62]]
    fdconvert.pack([{"ids": row} for row in rows], tmp_path / "ids.mds", schema={"ids": "json"})
    loader = fdconvert.Loader(
        tmp_path / "ids.mds", 3, label=None, fields=["ids"], sampling=fdconvert.Sequential(), output="numpy"
    )
    (batch,) = list(loader.batches())
    values, offsets = map(np.asarray, fdconvert.ragged(batch.fields["ids"]))
    assert values.tolist() == [1, -2, 3, 2**62] and offsets.tolist() == [0, 3, 3, 4]
    values, _ = map(np.asarray, fdconvert.ragged([b"[0.5, 2]"], "float32"))
    assert values.dtype == np.float32 and values.tolist() == [0.5, 2.0]
    assert np.asarray(fdconvert.ragged([b"", b"[7]"])[1]).tolist() == [0, 0, 1]
    for wrong in [b"{}", b"[1.5]", b"[[1]]", b"[null]", b"1"]:
        with pytest.raises(fdconvert.DataError, match="row 1 is not a list of such numbers"):
            fdconvert.ragged([b"[1]", wrong])
    with pytest.raises(fdconvert.UsageError, match="int8"):
        fdconvert.ragged([], "int8")
