"""read_mds.py DIR TRUTH.json OUT : StreamingDataset reads DIR (and its splits) and compares every value; then MDSWriter writes the same samples to OUT, whose bytes the caller compares."""
import hashlib
import io
import json
import os
import sys

import numpy as np
import streaming
from PIL import Image
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

folder, truth_path, out = sys.argv[1:4]
truth = json.load(open(truth_path))
index = json.load(open(os.path.join(folder, "index.json")))
first = index["shards"][0]
columns = dict(zip(first["column_names"], first["column_encodings"]))
clean_stale_shared_memory()
n_checked = 0
for validate in [None] + first["hashes"]:
    dataset = StreamingDataset(local=folder, shuffle=False, batch_size=1, validate_hash=validate)
    assert len(dataset) == len(truth), (len(dataset), len(truth))
    for i, wanted in enumerate(truth):
        sample = dataset[i]
        assert set(sample) == set(columns), sample.keys()
        for name, value in wanted.items():
            found = sample[name]
            encoding = columns[name]
            if name == "image":
                if isinstance(found, bytes):
                    found = Image.open(io.BytesIO(found))
                assert found.size == tuple(value["size"]), (i, found.size)
                found.load()
                continue
            if encoding.startswith("ndarray"):
                assert found.dtype == np.float32 and found.shape == (2, 3)
                found = found.tobytes().hex()
            elif encoding == "bytes":
                found = found.hex()
            elif encoding == "json":
                value = json.loads(value)
            assert found == value, (i, name, found, value)
            n_checked += 1
    del dataset
    clean_stale_shared_memory()

# What MDSWriter makes of the same bytes: everything but the compressed file has to be the same.
raw = open(os.path.join(folder, first["raw_data"]["basename"]), "rb").read()
n, = np.frombuffer(raw[:4], np.uint32)
offsets = np.frombuffer(raw[4 : 4 * (int(n) + 2)], np.uint32)
with MDSWriter(columns=columns, out=out, compression=first["compression"], hashes=first["hashes"], size_limit=None) as writer:
    for begin, end in zip(offsets, offsets[1:]):
        data, at, sizes, sample = raw[begin:end], 0, [], {}
        for size in first["column_sizes"]:
            if size is None:
                size, = np.frombuffer(data[at : at + 4], np.uint32)
                at += 4
            sizes.append(int(size))
        for name, size in zip(first["column_names"], sizes):
            sample[name] = data[at : at + size]
            at += size
        writer.write(sample)
theirs = json.load(open(os.path.join(out, "index.json")))
assert theirs["shards"][0]["raw_data"] == first["raw_data"], "the shard differs"
if len(index["shards"]) == 1 and first["compression"] is None:
    mine = open(os.path.join(folder, "index.json"), "rb").read()
    assert open(os.path.join(out, "index.json"), "rb").read() == mine, "the index differs"
for split in sys.argv[4:]:
    dataset = StreamingDataset(local=folder, split=split, shuffle=False, batch_size=1)
    assert len(dataset) > 0 and "key" in dataset[0]
    del dataset
    clean_stale_shared_memory()
print(f"streaming {streaming.__version__}, numpy {np.__version__}, Python {sys.version.split()[0]}: {len(truth)} samples, {n_checked} values, hashes {first['hashes']}, compression {first['compression']}: same bytes")
