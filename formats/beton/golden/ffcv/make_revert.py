"""The file `revert.beton`: samples that FFCV starts in one page and gives up there, and empty values.

usage: python make_revert.py FOLDER_OF_KODAK_PNGS OUT_FOLDER      (with ffcv 1.0.2 installed)

Prints the file's entry for manifest.json. FFCV itself cannot load the file: it fails on empty bytes.
"""
import glob, hashlib, json, struct, sys
from importlib.metadata import version
import numpy as np
from PIL import Image
from ffcv.fields import BytesField, IntField, JSONField, RGBImageField
from ffcv.writer import DatasetWriter

assert version("ffcv") == "1.0.2", version("ffcv")
files = sorted(glob.glob(sys.argv[1] + "/*.png"))
assert len(files) == 12, files
# Samples 0 and 7 have an empty first value, 0 before there is any page. Sample 8 outgrows the
# first page with its last value, sample 10 the second with its image: one gives up three values there.
LENS = [(0, 240_000)] + [(1_000 * i, 240_000) for i in range(1, 7)] + [(0, 240_000), (9_000, 240_000), (900_000, 0), (900_000, 40_000), (5, 700_000)]


class Samples:
    def __len__(self):
        return len(LENS)

    def __getitem__(self, i):
        i = int(i)
        head, tail = (np.full(n, i, "u1") for n in LENS[i])
        image = Image.open(files[i]).convert("RGB").resize((96, 64))
        return head, image, i - 5, {"i": i}, tail


fields = dict(head=BytesField(), image=RGBImageField(write_mode="raw"), label=IntField(), info=JSONField(), tail=BytesField())
path = sys.argv[2] + "/revert.beton"
DatasetWriter(path, fields, page_size=1 << 21, num_workers=1).from_indexed_dataset(Samples(), chunksize=4)

data = open(path, "rb").read()
_, n_fields, page_size, n_samples, table = struct.unpack_from("<HHIQQ", data)
sha = lambda ptr, size: dict(ptr=ptr, size=size, sha256=hashlib.sha256(data[ptr:ptr + size]).hexdigest())
rows = []
for i in range(n_samples):
    # head 16, image 13, label at 32, info 16, tail 16: 72 bytes.
    at = 24 + 1041 * n_fields + 72 * i
    mode, w, h, ptr = struct.unpack_from("<BHHQ", data, at + 16)
    rows.append(dict(head=sha(*struct.unpack_from("<QQ", data, at)), image=dict(sha(ptr, w * h * 3), mode="raw", w=w, h=h),
                     label=struct.unpack_from("<q", data, at + 32)[0], info=sha(*struct.unpack_from("<QQ", data, at + 40)), tail=sha(*struct.unpack_from("<QQ", data, at + 56))))
n_entries = (len(data) - table) // 24
assert n_entries == 4 * n_samples
print(json.dumps(dict(file_sha256=hashlib.sha256(data).hexdigest(), page_size=page_size, workers=1, samples=rows)))
