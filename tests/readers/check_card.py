#!/usr/bin/env python3
"""Loads a folder of shards by its data card: `check_card.py SHARDS`.

Splits, their sizes and the class names are those that `fdconvert.json` has. Skipped where Hugging Face
`datasets` is not installed.
"""
import json
import sys
from pathlib import Path

try:
    import datasets
except ImportError:
    print("data card: skipped, datasets is not installed")
    sys.exit()

folder = Path(sys.argv[1])
manifest = json.loads((folder / "fdconvert.json").read_text())
sizes = {}
for shard in manifest["shards"]:
    sizes[shard["split"]] = sizes.get(shard["split"], 0) + shard["samples"]
label = next(field for field in manifest["schema"]["fields"] if "class_names" in field)
loaded = datasets.load_dataset(str(folder))
found = {name: len(split) for name, split in loaded.items()}
assert found == sizes, (found, sizes)
for split in loaded.values():
    assert split.features["cls"].names == label["class_names"]
print(f"datasets {datasets.__version__}: {found} by the data card, with class names")
