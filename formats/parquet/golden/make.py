#!/usr/bin/env python3
"""Makes the files of this folder, with pyarrow and Hugging Face `datasets`: `make.py FOLDER`."""
import base64
import decimal
import io
import sys
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
from PIL import Image

out = Path(sys.argv[1])
(out / "images").mkdir(parents=True, exist_ok=True)
(out / "splits" / "data").mkdir(parents=True, exist_ok=True)


def encoded(number):
    image = Image.new("RGB", (8 + number, 6), (40 * number, 90, 200 - 30 * number))
    file = io.BytesIO()
    image.save(file, "PNG" if number % 2 else "JPEG")
    return file.getvalue()


images = [encoded(number) for number in range(6)]
for number, image in enumerate(images):
    (out / "images" / str(number)).write_bytes(image)
paths = ["cat/a.jpg", "b.png", "cat/a.jpg", "../c.png", None, "d.png"]
files = [{"bytes": image, "path": path} for image, path in zip(images, paths)]

# As `datasets` writes it: features, snappy, its own row groups.
features = datasets.Features(
    image=datasets.Image(),
    label=datasets.ClassLabel(names=["cat", "dog", "eel"]),
    caption=datasets.Value("string"),
    score=datasets.Value("float32"),
    seen=datasets.Value("bool"),
)
rows = dict(
    image=files,
    label=[0, 1, 2, 0, 1, 2],
    caption=["first", "zwei", "", "vier \u00fc", "five", "six"],
    score=[0.5, 1.5, -2.0, 3.25, 0.1, 6.0],
    seen=[True, False, True, True, False, False],
)
datasets.Dataset.from_dict(rows, features=features).to_parquet(out / "struct.parquet", batch_size=2)

# Annotations of objects, as an object of lists and as a list of objects.
category = datasets.ClassLabel(names=["person", "kite"])
lists = dict(
    bbox=datasets.List(datasets.List(datasets.Value("float32"), length=4)),
    category=datasets.List(category),
)
objects = dict(bbox=datasets.List(datasets.Value("int64")), category=category)
boxes = [[[0.5, 1, 2, 3], [4, 5, 6, 7]], [], [[1, 1, 1, 1]]]
categories = [[1, 0], [], [0]]
datasets.Dataset.from_dict(
    dict(
        image=files[:3],
        objects=[dict(bbox=b, category=c) for b, c in zip(boxes, categories)],
    ),
    features=datasets.Features(image=datasets.Image(), objects=lists),
).to_parquet(out / "objects.parquet")
datasets.Dataset.from_dict(
    dict(
        image=files[:3],
        objects=[
            [dict(bbox=[int(x) for x in box], category=c) for box, c in zip(b, cs)]
            for b, cs in zip(boxes, categories)
        ],
    ),
    features=datasets.Features(image=datasets.Image(), objects=datasets.List(objects)),
).to_parquet(out / "list.parquet")

# Arrays of one shape, and lists that have none.
features = datasets.Features(
    image=datasets.Image(),
    grid=datasets.Array2D(shape=(2, 3), dtype="float32"),
    vector=datasets.List(datasets.Value("int16"), length=2),
    loose=datasets.List(datasets.Value("int32")),
)
datasets.Dataset.from_dict(
    dict(
        image=files[:2],
        grid=[[[1, 2, 3], [4, 5, 6]], [[-1, 0, 0.5], [7, 8, 9]]],
        vector=[[1, -2], [300, 4]],
        loose=[[1], [2, 3]],
    ),
    features=features,
).to_parquet(out / "arrays.parquet")

# The same without features: only the schema of Arrow tells that lists have one length.
fixed = pa.table(
    dict(
        image=pa.array(images[:2], pa.binary()),
        vector=pa.array([[1, -2, 3], [4, 5, 6]], pa.list_(pa.int16(), 3)),
        grid=pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], pa.list_(pa.list_(pa.float64(), 2), 2)),
        loose=pa.array([[1], [2]], pa.list_(pa.int16())),
    )
)
pq.write_table(fixed, out / "fixed.parquet")

# Plain tables of pyarrow, without a word about features.
plain = pa.table(
    dict(
        picture=pa.array(images, pa.large_binary()),
        blob=pa.array([b"\x00\x01", b"", b"x" * 9, b"a", b"b", b"c"], pa.binary()),
        name=pa.array(["x", "y", "x", "x", "y", "z"]).dictionary_encode(),
        number=pa.array([1, 2, 3, 4, 5, 2**63 - 1], pa.int64()),
    )
)
for codec in ["none", "snappy", "gzip", "lz4", "zstd", "brotli"]:
    pq.write_table(plain, out / f"plain-{codec}.parquet", compression=codec)
# Row groups of two rows, a page for each row, and an index of the pages.
pq.write_table(
    plain,
    out / "pages.parquet",
    compression="zstd",
    row_group_size=4,
    data_page_size=1,
    write_batch_size=1,
    write_page_index=True,
    data_page_version="2.0",
    use_dictionary=["name"],
)

# Nulls everywhere.
struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
nulls = pa.table(
    dict(
        image=pa.array(
            [files[0], None, {"bytes": None, "path": "lost.jpg"}, files[1], files[2]], struct
        ),
        caption=pa.array(["a", "b", "c", None, "e"]),
        score=pa.array([1.0, 2.0, 3.0, 4.0, None]),
        extra=pa.array([None, None, None, None, [1, None]], pa.list_(pa.int32())),
        nothing=pa.nulls(5),
    )
)
pq.write_table(nulls, out / "nulls.parquet")

# Types that nest, and types that JSON does not have.
nested = pa.table(
    dict(
        image=pa.array(files[:3], struct),
        people=pa.array(
            [[{"name": "Eve", "tags": ["a", "b"]}, None, {"name": None, "tags": []}], [], []],
            pa.list_(pa.struct([("name", pa.string()), ("tags", pa.list_(pa.string()))])),
        ),
        counts=pa.array([[("k", 1), ("l", None)], None, []], pa.map_(pa.string(), pa.int32())),
        price=pa.array([decimal.Decimal(text) for text in ["-12.05", "0.30", "7"]], pa.decimal128(9, 2)),
        large=pa.array([7, 8, 2**64 - 1], pa.uint64()),
        half=pa.array([0.5, -2.0, 1.0], pa.float16()),
        day=pa.array([1, 20000, 3], pa.date32()),
        single=pa.array([0.1, 1e30, 0.0], pa.float32()),
    )
)
pq.write_table(nested, out / "nested.parquet")

# Several files with splits.
small = datasets.Features(image=datasets.Image(), label=datasets.ClassLabel(names=["cat", "dog"]))
for name, part in {
    "train-00000-of-00002": slice(0, 2),
    "train-00001-of-00002": slice(2, 3),
    "test-00000-of-00001": slice(3, 6),
}.items():
    labels = [0, 1, 1, 0, 0, 1][part]
    table = datasets.Dataset.from_dict(dict(image=files[part], label=labels), features=small)
    table.to_parquet(out / "splits" / "data" / f"{name}.parquet")


# The column `label` is encrypted and the footer is not. The keys are random, so that no run makes it
# again.
class Kms(encryption.KmsClient):
    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, master_key_identifier):
        return base64.b64decode(wrapped_key)


properties = encryption.CryptoFactory(lambda config: Kms()).file_encryption_properties(
    encryption.KmsConnectionConfig(),
    encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["label"]}, plaintext_footer=True
    ),
)
table = pa.table(dict(image=pa.array(files[:3], struct), label=pa.array([0, 1, 2])))
with pq.ParquetWriter(
    out / "encrypted.parquet", table.schema, encryption_properties=properties
) as writer:
    writer.write_table(table)
