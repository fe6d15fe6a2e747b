#!/usr/bin/env python3
"""Reads shards by their Croissant description and compares every byte: `check_croissant.py FILES SHARDS`.

SHARDS is a folder of tar shards with `croissant.json`, FILES what `fdconvert unpack` made of it: one
folder for each class. Skipped where `mlcroissant` is not installed.
"""
import sys
from importlib.metadata import version
from pathlib import Path

try:
    import mlcroissant
except ImportError:
    print("mlcroissant: skipped, not installed")
    sys.exit()

files, shards = Path(sys.argv[1]), Path(sys.argv[2])
truth = {}
for path in files.glob("*/**/*"):
    if path.is_file():
        relative = path.relative_to(files)
        truth[str(relative.with_suffix(""))] = (path.read_bytes(), relative.parts[0])
classes = sorted({label for _, label in truth.values()})

# Validation is part of it: an error raises.
dataset = mlcroissant.Dataset(shards / "croissant.json")
text = lambda value: value.decode() if isinstance(value, bytes) else value
found = {}
for record in dataset.records("samples"):
    label = text(record["samples/label_name"])
    assert record["samples/label"] == classes.index(label), record
    found[text(record["samples/key"])] = (record["samples/image"].fp.getvalue(), label)
assert found == truth, f"{len(found)} records, {len(truth)} expected, or other bytes"
print(f"mlcroissant {version('mlcroissant')}: {len(found)} records, all bytes and labels as packed")
