#!/usr/bin/env python3
"""Reads shards that hold images of several codecs: `check_both.py FILES SHARDS`.

FILES is what was packed: one folder for each class. Uses tarfile, DALI's list of members as DALI
splits it, and webdataset, with its decoder, when that is installed. Prints one line for each reader;
fails at the first difference.
"""
import sys
import tarfile
from pathlib import Path

files, folder = Path(sys.argv[1]), Path(sys.argv[2])
shards = sorted(folder.glob("*.tar"))
classes = sorted(path.name for path in files.iterdir())
# Bytes of the image, its extension by its content, and its label.
truth = []
for path in files.rglob("*"):
    if path.is_file():
        image = path.read_bytes()
        extension = "png" if image.startswith(b"\x89PNG") else "jpg"
        truth.append((image, extension, classes.index(path.relative_to(files).parts[0])))
truth.sort()


def compare(reader, samples):
    found = sorted((image, extension, label) for _, image, extension, label in samples)
    assert found == truth, f"{reader}: {len(found)} samples, {len(truth)} expected, or others"
    assert len({key for key, *_ in samples}) == len(truth), f"{reader}: keys are there twice"
    print(f"{reader}: {len(found)} samples, each under the extension of its codec")


def by_tarfile():
    for shard in shards:
        with tarfile.open(shard) as archive:
            members = archive.getmembers()
            for image, label in zip(members[::2], members[1::2]):
                key, extension = image.name.split(".")
                assert label.name == f"{key}.cls" and "JP" not in key
                read = archive.extractfile
                yield key, read(image).read(), extension, int(read(label).read())


def by_dali_index():
    for shard in shards:
        whole = shard.read_bytes()
        for line in shard.with_suffix(".idx").read_text().splitlines()[1:]:
            words = line.split()
            assert len(words) == 8, line
            parts = [whole[int(at) : int(at) + int(n)] for at, n in (words[1:3], words[5:7])]
            yield words[3].split(".")[0], parts[0], words[0], int(parts[1])


keys = {key for key, *_ in by_tarfile()}
assert {"a/x", "a/k", "jack-o'-lantern/ONE"} <= keys, keys
compare("tarfile", list(by_tarfile()))
compare("DALI's index", list(by_dali_index()))
try:
    import webdataset
except ImportError:
    print("webdataset: skipped, not installed")
    sys.exit()

urls = [str(shard) for shard in shards]


def by_webdataset():
    for sample in webdataset.WebDataset(urls, shardshuffle=False):
        extension = next(name for name in ("jpg", "png") if name in sample)
        yield sample["__key__"], sample[extension], extension, int(sample["cls"])


compare("webdataset", list(by_webdataset()))
decoded = webdataset.WebDataset(urls, shardshuffle=False).decode("pil").to_tuple("jpg;png", "cls")
n_decoded = 0
for image, label in decoded:
    assert image.size[0] > 0 and isinstance(label, int), (image, label)
    n_decoded += 1
assert n_decoded == len(truth)
print(f"webdataset: decoded {n_decoded} images")
