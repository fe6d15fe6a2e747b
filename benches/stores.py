"""Training from a store that takes its time: this loader beside others, in interleaved rounds.

    make stores STORES=/tmp/stores LATENCY=65      # in another terminal; set the variables it prints
    python benches/stores.py prepare IMAGES /tmp/stores/bucket --samples 4000
    python benches/stores.py run --rounds 3

`prepare` packs the JPEGs in the folder IMAGES, repeated up to the number of samples, as our tar
shards, as MDS and for LitData. `run` reads each once in every round, from an empty cache, decodes,
resizes to 256 and cuts 224 x 224 out; it prints images/s, the time to the first batch, the CPU time
of an image, and what the server was asked for. Rivals that are not installed are named.
"""

import argparse
import glob
import importlib
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUCKET = "s3://bucket"
BATCH, SIZE, RESIZE = 64, 224, 256


def jpegs(folder):
    names = sorted(glob.glob(os.path.join(folder, "**", "*.*"), recursive=True))
    return [name for name in names if name.lower().endswith((".jpg", ".jpeg"))]


def sample(index, files):
    with open(files[index % len(files)], "rb") as file:
        return file.read()


def lit_item(pair):
    index, files = pair
    return {"image": sample(index, files), "label": index % 10}


def prepare(images, bucket, samples):
    files = jpegs(images)
    os.makedirs(bucket, exist_ok=True)
    with tempfile.TemporaryDirectory() as root:
        for index in range(samples):
            folder = os.path.join(root, "images", str(index % 10))
            os.makedirs(folder, exist_ok=True)
            os.link(files[index % len(files)], os.path.join(folder, f"{index:06}.jpg")) if same_disk(
                root, files[0]
            ) else shutil.copy(files[index % len(files)], os.path.join(folder, f"{index:06}.jpg"))
        import fdconvert

        source = os.path.join(root, "images")
        fdconvert.pack(
            source, os.path.join(bucket, "wds"), format="wds", shard_size="64MiB",
            shuffle=True, overwrite=True, jpeg_index="on",
        )
    if available("streaming"):
        from streaming import MDSWriter

        columns = {"image": "bytes", "label": "int"}
        out = os.path.join(bucket, "mds")
        shutil.rmtree(out, ignore_errors=True)
        with MDSWriter(out=out, columns=columns, size_limit="64mb") as writer:
            for index in range(samples):
                writer.write(lit_item((index, files)))
    if available("litdata"):
        import litdata

        out = os.path.join(bucket, "lit")
        shutil.rmtree(out, ignore_errors=True)
        items = [(index, files) for index in range(samples)]
        litdata.optimize(lit_item, items, out, num_workers=1, chunk_bytes="64MB")


def same_disk(a, b):
    return os.stat(a).st_dev == os.stat(b).st_dev


def available(module):
    try:
        importlib.import_module(module)
    except ImportError:
        print(f"# {module} is not installed", file=sys.stderr)
        return False
    return True


def decoded(data):
    """As most scripts do it, with the faster of the decoders that are there."""
    import numpy
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (RESIZE, RESIZE))
    image = image.convert("RGB")
    scale = RESIZE / min(image.size)
    image = image.resize([max(RESIZE, round(side * scale)) for side in image.size], Image.BILINEAR)
    left, top = ((side - SIZE) // 2 for side in image.size)
    return numpy.asarray(image.crop((left, top, left + SIZE, top + SIZE)))


def ours(cache, workers):
    import fdconvert

    loader = fdconvert.Loader(
        f"{BUCKET}/wds", BATCH, seed=1, threads=workers, fetch_threads=64, output="numpy"
    )
    for images, _ in loader:
        yield len(images)


def torch_batches(dataset, workers):
    from torch.utils.data import DataLoader

    yield from map(len, DataLoader(dataset, batch_size=BATCH, num_workers=workers))


def mds(cache, workers):
    from streaming import StreamingDataset

    class Images(StreamingDataset):
        def __getitem__(self, index):
            return decoded(super().__getitem__(index)["image"])

    dataset = Images(
        remote=f"{BUCKET}/mds", local=cache, shuffle=True, batch_size=BATCH, predownload=8 * BATCH
    )
    yield from torch_batches(dataset, workers)


def litdata(cache, workers):
    from litdata import StreamingDataLoader, StreamingDataset

    class Images(StreamingDataset):
        def __getitem__(self, index):
            return decoded(super().__getitem__(index)["image"])

    options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    dataset = Images(f"{BUCKET}/lit", cache_dir=cache, shuffle=True, storage_options=options)
    yield from map(len, StreamingDataLoader(dataset, batch_size=BATCH, num_workers=workers))


def webdataset(cache, workers):
    import webdataset

    # Without the tool of a cloud: the same objects over plain HTTP.
    base = os.environ["AWS_ENDPOINT_URL"] + "/bucket/wds"
    manifest = subprocess.check_output(["curl", "-s", f"{base}/fdconvert.json"])
    shards = [f"pipe:curl -s {base}/{shard['name']}" for shard in json.loads(manifest)["shards"]]
    dataset = webdataset.WebDataset(shards, shardshuffle=len(shards)).shuffle(1000)
    dataset = dataset.map(lambda sample: decoded(sample["jpg"]))
    yield from torch_batches(dataset, min(workers, len(shards)))


RIVALS = {
    "fdconvert": (ours, "fdconvert"),
    "MosaicML Streaming": (mds, "streaming"),
    "LitData": (litdata, "litdata"),
    "webdataset": (webdataset, "webdataset"),
}


def one(name, workers):
    """A process of its own: no cache, no threads of before."""
    batches, _ = RIVALS[name]
    with tempfile.TemporaryDirectory() as cache:
        began, first, images = time.perf_counter(), None, 0
        for count in batches(cache, workers):
            first = first or time.perf_counter() - began
            images += count
        seconds = time.perf_counter() - began
    times = os.times()
    cpu = times.user + times.system + times.children_user + times.children_system
    print(json.dumps({"images": images, "seconds": seconds, "first": first, "cpu": cpu}))


def run(rounds, workers):
    names = [name for name, (_, module) in RIVALS.items() if available(module)]
    rates = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            command = [sys.executable, __file__, "one", name, "--workers", str(workers)]
            done = subprocess.run(command, capture_output=True, text=True)
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            if done.returncode != 0 or not lines:
                print(f"# {name} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
                continue
            rates[name].append(json.loads(lines[-1]))
    for name, found in rates.items():
        if found:
            rate = statistics.median(one["images"] / one["seconds"] for one in found)
            first = statistics.median(one["first"] for one in found)
            cpu = statistics.median(one["cpu"] / one["images"] * 1000 for one in found)
            print(f"{name:20} {rate:8.0f} images/s  first batch {first:6.2f} s  {cpu:6.2f} CPU-ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    chores = parser.add_subparsers(dest="chore", required=True)
    preparing = chores.add_parser("prepare")
    preparing.add_argument("images")
    preparing.add_argument("bucket")
    preparing.add_argument("--samples", type=int, default=4000)
    running = chores.add_parser("run")
    running.add_argument("--rounds", type=int, default=3)
    running.add_argument("--workers", type=int, default=2)
    single = chores.add_parser("one")
    single.add_argument("name", choices=RIVALS)
    single.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    if args.chore == "prepare":
        prepare(args.images, args.bucket, args.samples)
    elif args.chore == "run":
        run(args.rounds, args.workers)
    else:
        one(args.name, args.workers)


if __name__ == "__main__":
    main()
