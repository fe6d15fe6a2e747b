#!/usr/bin/env python3
"""make_streaming.py OUT : the datasets in OUT/{none,zstd,gz}, written by mosaicml-streaming's own MDSWriter.

Made once; the result is only ever read. truth.json says what every sample holds.
"""
import hashlib
import json
import os
import sys

import numpy as np
import streaming
from streaming import MDSWriter

assert streaming.__version__ == "0.13.0", streaming.__version__
here = os.path.dirname(os.path.abspath(__file__))
fixtures = os.path.join(here, "../../../crates/testkit/fixtures")
images = [open(os.path.join(fixtures, name), "rb").read() for name in ("rgb-420.jpg", "gray.jpg")]
columns = {
    "image": "jpeg",
    "label": "int",
    "caption": "str",
    "box": "ndarray:float32:2,2",
    "meta": "json",
    "score": "float16",
    "count": "uint8",
    "big": "str_int",
}


def sample(i):
    # bytes are stored as they are, whatever the encoding.
    return {
        "image": images[i % 2],
        "label": i - 3,
        "caption": f"caption {i} \u00e9\U0001f600",
        "box": np.arange(4, dtype=np.float32).reshape(2, 2) + i,
        "meta": {"id": i, "tags": ["a", None, 0.5]},
        "score": np.float16(i / 4),
        "count": 250 + i % 5,
        "big": 10**30 + i,
    }


out = sys.argv[1]
n_samples = 9
for name, compression in (("none", None), ("zstd", "zstd:7"), ("gz", "gz")):
    folder = os.path.join(out, name)
    hashes = ["md5", "sha1", "xxh64"]
    with MDSWriter(out=folder, columns=columns, compression=compression, hashes=hashes, size_limit=2000) as writer:
        for i in range(n_samples):
            writer.write(sample(i))

truth = []
for i in range(n_samples):
    s = sample(i)
    truth.append({
        "image": hashlib.sha256(s["image"]).hexdigest(),
        "label": s["label"],
        "caption": s["caption"],
        "box": s["box"].tobytes().hex(),
        "meta": json.dumps(s["meta"]),
        "score": float(s["score"]),
        "count": s["count"],
        "big": str(s["big"]),
    })
with open(os.path.join(out, "truth.json"), "w") as file:
    json.dump(truth, file, indent=1)
