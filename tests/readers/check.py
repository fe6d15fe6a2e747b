#!/usr/bin/env python3
"""Reads shards with other people's readers and compares every byte: `check.py FILES SHARDS...`.

SHARDS are folders of tar shards that are one dataset, FILES what `fdconvert unpack` made of it:
one folder for each class, in the order of the labels. Uses the tarfile of the standard library, and Hugging Face
`datasets` when it is installed. Prints one line for each reader; fails at the first difference.
"""
import sys
import tarfile
from pathlib import Path

files, folders = Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]]
shards = sorted(str(path) for folder in folders for path in folder.glob("*.tar"))
classes = sorted(path.name for path in files.iterdir())
# Keys are paths without the extension.
truth = {}
for path in files.rglob("*"):
    if path.is_file():
        relative = path.relative_to(files)
        truth[str(relative.with_suffix(""))] = (path.read_bytes(), classes.index(relative.parts[0]))


def compare(reader, samples):
    found = {key: (image, label) for key, image, label in samples}
    assert found == truth, f"{reader}: {len(found)} samples, {len(truth)} expected, or other bytes"
    print(f"{reader}: {len(found)} samples, all bytes and labels as packed")


def by_tarfile():
    for shard in shards:
        with tarfile.open(shard) as archive:
            members = archive.getmembers()
            for image, label in zip(members[::2], members[1::2]):
                assert image.isreg() and not image.pax_headers and image.mtime == 0
                key, _ = image.name.split(".")
                assert label.name == f"{key}.cls"
                yield key, archive.extractfile(image).read(), int(archive.extractfile(label).read())


compare("tarfile", by_tarfile())
try:
    import datasets
except ImportError:
    print("datasets: skipped, not installed")
    sys.exit()

stream = datasets.load_dataset("webdataset", data_files=shards, split="train", streaming=True)
field = next(name for name in stream.features if name in ("jpg", "png", "img"))
as_stored = stream.cast_column(field, datasets.Image(decode=False))
compare(
    f"datasets {datasets.__version__}",
    ((sample["__key__"], sample[field]["bytes"], sample["cls"]) for sample in as_stored),
)
# Whatever a field is called, its images are decoded by what they are.
kinds = {}
for sample in stream.cast_column(field, datasets.Image()):
    image = sample[field]
    kinds[image.format] = kinds.get(image.format, 0) + 1
    image.load()
print(f"datasets {datasets.__version__}: decoded {kinds}")
assert sum(kinds.values()) == len(truth)
