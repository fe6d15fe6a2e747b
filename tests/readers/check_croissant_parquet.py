#!/usr/bin/env python3
"""Reads Parquet files by their Croissant descriptions: `check_croissant_parquet.py FDCONVERT FILES WORK`.

Packs FILES, one folder of images for each class, with a table of numbers, texts and documents, into
a Parquet file for each of two splits in WORK, and compares all that `mlcroissant` finds with what was
packed. Skipped where `mlcroissant` is not installed.
"""
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

try:
    import mlcroissant
except ImportError:
    print("mlcroissant: skipped, not installed")
    sys.exit()

fdconvert, files, work = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
work.mkdir(parents=True)
truth = {}
for number, path in enumerate(sorted(path for path in files.rglob("*") if path.is_file())):
    key = str(path.relative_to(files))
    document = {"box": [number, 0.5], "tag": "é"}
    label = path.relative_to(files).parts[0]
    # The column is called as the field of the keys is.
    row = {"path": key, "label": label, "key": f'number {number}, "é"', "score": number / 3}
    truth[key] = (path.read_bytes(), row | {"info": document})
classes = sorted({row["label"] for _, row in truth.values()})
table = work / "table.jsonl"
table.write_text("".join(json.dumps(row) + "\n" for _, row in truth.values()))
pack = [fdconvert, "pack", str(files), str(work / "x.parquet"), "--labels", str(table), "--quiet"]
subprocess.run(pack + ["--split", "train=0.75,val=0.25", "--sidecars", "croissant"], check=True)

text = lambda value: value.decode() if isinstance(value, bytes) else value
found = {}
descriptions = sorted(work.glob("*.croissant.json"))
assert [it.name for it in descriptions] == [
    "x-train.parquet.croissant.json",
    "x-val.parquet.croissant.json",
], descriptions
for description in descriptions:
    # Validation is part of it: an error raises.
    dataset = mlcroissant.Dataset(description)
    names = {
        record["label_classes/number"]: text(record["label_classes/name"])
        for record in dataset.records("label_classes")
    }
    assert [names[number] for number in sorted(names)] == classes, names
    for record in dataset.records("samples"):
        of = {name.removeprefix("samples/"): value for name, value in record.items()}
        key, image = text(of["key"]), of["image"].fp.getvalue()
        assert key not in found, f"{key} twice"
        row = {
            "path": key,
            "label": names[of["label"]],
            "key": text(of["key_"]),
            "score": of["score"],
            "info": json.loads(text(of["info"])),
        }
        found[key] = (image, row)
assert found == truth, f"{len(found)} records, {len(truth)} expected, or other values"
print(f"mlcroissant {version('mlcroissant')}: {len(found)} records of Parquet files, all as packed")
