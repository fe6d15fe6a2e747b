"""Datasets that change, against a model and read by other tools."""

import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fdconvert as fd
from fdconvert import transforms

CLASSES = ["ant", "bee", "cat"]
Model = dict[str, tuple[int, bytes]]


def image(number: int) -> bytes:
    """A small PNG that is no other one's."""
    pil = pytest.importorskip("PIL.Image")
    found = pil.new("RGB", (6, 5), (number % 256, number // 256 % 256, 77))
    out = io.BytesIO()
    found.save(out, "png")
    return out.getvalue()


def folder(path: Path, name: str, numbers: range) -> Model:
    """A folder of images in class folders, and its samples."""
    model: Model = {}
    for number in numbers:
        label = number % 3
        key = f"{CLASSES[label]}/{name}-{number:05}.png"
        file = path / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image(number))
        model[key] = (label, file.read_bytes())
    return model


def by_fdconvert(path: str) -> Model:
    dataset = fd.Dataset(path, decode=None)
    samples = ((dataset.key(at), dataset[at]) for at in range(len(dataset)))
    return {key: (sample["label"], bytes(sample["image"]["bytes"])) for key, sample in samples}


def by_webdataset(path: str) -> Model:
    webdataset = pytest.importorskip("webdataset")
    last = len(list(Path(path).glob("train-*.tar"))) - 1
    urls = f"{path}/train-{{000000..{last:06}}}.tar"
    found = webdataset.WebDataset(urls, shardshuffle=False)
    return {f"{it['__key__']}.png": (int(it["cls"]), it["png"]) for it in found}


def by_wids(path: str) -> Model:
    wids = pytest.importorskip("wids")
    described = json.loads((Path(path) / "wids-train.json").read_text())
    shards = [dict(it, url=f"{path}/{it['url']}") for it in described["shardlist"]]
    found = wids.ShardListDataset(shards, transformations=[], localname=lambda url: url)
    samples = [found[at] for at in range(len(found))]
    return {f"{it['__key__']}.png": (int(it[".cls"].read()), it[".png"].read()) for it in samples}


def by_datasets(path: str) -> Model:
    datasets = pytest.importorskip("datasets")
    # The card describes the columns, and a cached copy is of an earlier version.
    found = datasets.load_dataset(path, split="train", streaming=True)
    found = found.cast_column("png", datasets.Image(decode=False))
    return {f"{it['__key__']}.png": (it["cls"], it["png"]["bytes"]) for it in found}


def by_dali(path: str) -> Model:
    """DALI tells no keys: numbers in their place."""
    dali = pytest.importorskip("nvidia.dali")
    paths = sorted(str(tar) for tar in Path(path).glob("train-*.tar"))
    pipeline = dali.Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipeline:
        indexes = [tar.replace(".tar", ".idx") for tar in paths]
        found = dali.fn.readers.webdataset(
            paths=paths, index_paths=indexes, ext=["png", "cls"], name="reader"
        )
        pipeline.set_outputs(*found)
    pipeline.build()
    model = {}
    for at in range(pipeline.epoch_size("reader")):
        png, label = (bytes(output.at(0)) for output in pipeline.run())
        model[str(at)] = (int(label), png)
    return model


def by_streaming(path: str) -> Model:
    streaming = pytest.importorskip("streaming")
    streaming.base.util.clean_stale_shared_memory()
    found = streaming.StreamingDataset(local=path, shuffle=False, batch_size=1)
    model = {}
    for at in range(found.num_samples):
        shard, within = found.spanner[at]
        raw = found.shards[shard].get_sample_data(within)
        decoded = found.shards[shard].decode_sample(raw)
        buffer = io.BytesIO()
        decoded["image"].save(buffer, "png")
        model[decoded["key"]] = (decoded["label"], buffer.getvalue())
    return model


def by_pyarrow(path: str) -> Model:
    pyarrow = pytest.importorskip("pyarrow.dataset")
    rows = pyarrow.dataset(f"{path}/data").to_table().to_pylist()
    return {row["image"]["path"]: (row["label"], row["image"]["bytes"]) for row in rows}


def by_datasets_of_parquet(path: str) -> Model:
    datasets = pytest.importorskip("datasets")
    found = datasets.load_dataset(path, split="train", streaming=True)
    assert found.features["label"].names == CLASSES
    found = found.cast_column("image", datasets.Image(decode=False))
    return {it["image"]["path"]: (it["label"], it["image"]["bytes"]) for it in found}


def pixels(model: Model) -> dict[str, tuple[int, bytes]]:
    """The same with pixels in place of files."""
    pil = pytest.importorskip("PIL.Image")
    return {key: (label, pil.open(io.BytesIO(file)).tobytes()) for key, (label, file) in model.items()}


def edits(dataset: Path, root: Path, model: Model, n: int) -> Iterator[int]:
    """Make that many random edits of a dataset and of the model, and yield the versions."""
    drawn = random.Random(3)
    for at in range(1, n + 1):
        what = drawn.choice(["append", "remove", "update"])
        if what == "append":
            more = root / f"more-{at}"
            model |= folder(more, f"more{at}", range(1000 * at, 1000 * at + drawn.randint(1, 9)))
            report = fd.append(dataset, more, shard_count=4)
        elif what == "remove" and len(model) > 4:
            keys = drawn.sample(sorted(model), drawn.randint(1, len(model) // 3))
            for key in keys:
                del model[key]
            report = fd.remove(dataset, keys=keys)
        else:
            keys = drawn.sample(sorted(model), 2)
            table = root / f"labels-{at}.jsonl"
            with table.open("w") as out:
                for key in keys:
                    label = (model[key][0] + 1) % 3
                    model[key] = (label, model[key][1])
                    out.write(json.dumps({"path": key, "label": CLASSES[label]}) + "\n")
            report = fd.update(dataset, table)
        assert report["version"] == at + 1 and report["samples"] == len(model)
        yield at + 1


@pytest.mark.parametrize("judge", [by_fdconvert, by_webdataset, by_wids, by_datasets, by_dali])
def test_thirty_edits_of_tar_shards_as_others_see_them(
    judge: Callable[[str], Model], tmp_path: Path
) -> None:
    model = folder(tmp_path / "first", "first", range(14))
    dataset = tmp_path / "set.wds"
    fd.pack(tmp_path / "first", dataset, shard_count=4, sidecars="fdx,dali,wids,card")
    for version in edits(dataset, tmp_path, model, 30):
        if version % 5 == 1:
            found = judge(str(dataset))
            if judge is by_dali:
                assert sorted(found.values()) == sorted(model.values()), version
            else:
                assert found == model, version


@pytest.mark.parametrize("judge", [by_fdconvert, by_streaming])
def test_thirty_edits_of_mds_as_others_see_them(
    judge: Callable[[str], Model], tmp_path: Path
) -> None:
    model = folder(tmp_path / "first", "first", range(14))
    dataset = tmp_path / "set.mds"
    fd.pack(tmp_path / "first", dataset, shard_count=4)
    for version in edits(dataset, tmp_path, model, 30):
        if version % 5 == 1:
            assert pixels(judge(str(dataset))) == pixels(model), version


@pytest.mark.parametrize("judge", [by_fdconvert, by_pyarrow, by_datasets_of_parquet])
def test_thirty_edits_of_parquet_files_as_others_see_them(
    judge: Callable[[str], Model], tmp_path: Path
) -> None:
    model = folder(tmp_path / "first", "first", range(14))
    dataset = tmp_path / "set"
    fd.pack(tmp_path / "first", dataset, format="parquet", shard_count=4)
    for version in edits(dataset, tmp_path, model, 30):
        if version % 5 == 1:
            assert judge(str(dataset)) == model, version


def test_samples_are_appended_as_sequences_and_one_at_a_time(tmp_path: Path) -> None:
    schema = {"image": "image", "label": CLASSES}
    samples = [{"image": image(n), "label": n % 3} for n in range(9)]
    dataset = tmp_path / "set.wds"
    fd.pack(samples[:4], dataset, schema=schema, shard_count=4)
    report = fd.append(dataset, samples[4:6], schema=schema)
    assert (report["version"], report["added"], report["samples"]) == (2, 2, 6)
    with fd.Writer(dataset, schema=schema, append=True, keep_versions=2) as writer:
        for sample in samples[6:]:
            writer.write(sample)
    found = fd.Dataset(str(dataset), decode=None)
    assert [bytes(found[at]["image"]["bytes"]) for at in range(9)] == [it["image"] for it in samples]
    assert len({found.key(at) for at in range(9)}) == 9
    assert len(fd.Dataset(f"{dataset}@2")) == 6
    log = fd.log(dataset)
    assert [it["samples"] for it in log["versions"]] == [4, 6, 9]
    assert log["open"] == [2, 3]
    with pytest.raises(fd.UsageError, match="overwrite"):
        fd.append(dataset, tmp_path, overwrite=True)
    with pytest.raises(fd.UsageError, match="keep_versions"):
        fd.remove(dataset, keys=["0"], keep_versions=0)
    with pytest.raises(fd.UsageError, match="fields"):
        fd.append(dataset, [{"image": image(1), "label": 1, "text": "x"}])


def test_a_checkpoint_resumes_on_its_version_alone(tmp_path: Path) -> None:
    folder(tmp_path / "first", "first", range(24))
    folder(tmp_path / "more", "more", range(100, 110))
    dataset = tmp_path / "set.wds"
    fd.pack(tmp_path / "first", dataset, shard_count=5)
    fd.remove(dataset, keys=["ant/first-00000.png"])

    def loader(path: str) -> fd.Loader:
        resize: list[Any] = [transforms.Resize((4, 4))]
        return fd.Loader(path, batch_size=4, transform=resize, seed=5, output="numpy")

    def keys(loader: fd.Loader) -> list[int]:
        return [number for batch in loader.batches() for number in batch.samples.tolist()]

    expected = keys(loader(str(dataset)))
    running = loader(str(dataset))
    batches = running.batches()
    first = [n for _ in range(2) for n in next(batches).samples.tolist()]
    state = json.loads(json.dumps(running.state_dict()))
    assert state["datasets"] == [["set.wds", 2]]
    # While the training goes on.
    fd.append(dataset, tmp_path / "more", keep_versions=2)
    rest = [number for batch in batches for number in batch.samples.tolist()]
    assert first + rest == expected
    resumed = loader(f"{dataset}@2")
    resumed.load_state_dict(state)
    assert keys(resumed) == expected[8:]
    other = loader(str(dataset))
    with pytest.raises(fd.UsageError, match=r"version 2 of set\.wds.* version 3.*set\.wds@2"):
        other.load_state_dict(state)
