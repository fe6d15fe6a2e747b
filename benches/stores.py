#!/usr/bin/env python3
"""Training from a store that takes its time: this loader beside others, in interleaved rounds.

    cargo build --workspace --bin xtask --example fake_driver
    python benches/stores.py target/debug/xtask IMAGES [--samples 2000] [--latency 65] [--rounds 3]

The JPEGs in the folder IMAGES, repeated up to the number of samples, are packed as tar shards of
ours, as MDS and for LitData, into a folder that `xtask stores` serves as a bucket of S3, with that
many milliseconds before every answer. Each loader reads all of it once in every round, from an empty
cache in a process of its own, decodes, resizes to 256 and cuts 224 x 224 out. Prints Markdown:
images/s, seconds to the first batch, CPU milliseconds of an image, and what the server was asked
for. Rivals that are not installed are named.
"""
import argparse, importlib, io, json, os, re, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

BATCH, SIZE, RESIZE, SHARD = 64, 224, 256, 64 << 20


def jpegs(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))


def sample(pair):
    index, path = pair
    return {"image": path.read_bytes(), "label": index % 10}


def prepare(images, bucket, samples):
    files = jpegs(images)
    pairs = [(index, files[index % len(files)]) for index in range(samples)]
    with tempfile.TemporaryDirectory() as root:
        for index, path in pairs:
            folder = Path(root, str(index % 10))
            folder.mkdir(exist_ok=True)
            shutil.copy(path, folder / f"{index:06}.jpg")
        import fdconvert

        fdconvert.pack(root, bucket / "wds", format="wds", shard_size=SHARD, shuffle=True)
    if available("streaming"):
        from streaming import MDSWriter

        columns = {"image": "bytes", "label": "int"}
        with MDSWriter(out=str(bucket / "mds"), columns=columns, size_limit=SHARD) as writer:
            for pair in pairs:
                writer.write(sample(pair))
    if available("litdata"):
        import litdata

        litdata.optimize(sample, pairs, str(bucket / "lit"), num_workers=1, chunk_bytes=SHARD)


def available(module):
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def decoded(data):
    """As most scripts do it."""
    import numpy
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (RESIZE, RESIZE))
    image = image.convert("RGB")
    scale = RESIZE / min(image.size)
    image = image.resize([max(RESIZE, round(side * scale)) for side in image.size], Image.BILINEAR)
    left, top = ((side - SIZE) // 2 for side in image.size)
    return numpy.asarray(image.crop((left, top, left + SIZE, top + SIZE)))


def ours(in_order=False, **storage):
    def batches(cache, workers):
        import fdconvert

        middle = [fdconvert.transforms.Resize(RESIZE), fdconvert.transforms.CenterCrop(SIZE)]
        sampling = fdconvert.Sequential() if in_order else fdconvert.Shuffle()
        loader = fdconvert.Loader(
            "s3://bucket/wds", BATCH, transform=middle, threads=workers, output="numpy",
            sampling=sampling, storage=fdconvert.Storage(**storage),
        )
        for images, _ in loader:
            yield len(images)
        stats = loader.stats()
        print(f"over-fetched: {stats['over_fetched_bytes']} of {stats['received_bytes']}", file=sys.stderr)

    return batches


def torch_batches(dataset, workers):
    from torch.utils.data import DataLoader

    yield from map(len, DataLoader(dataset, batch_size=BATCH, num_workers=workers))


def streaming(cache, workers):
    from streaming import StreamingDataset

    class Images(StreamingDataset):
        def __getitem__(self, index):
            return decoded(super().__getitem__(index)["image"])

    dataset = Images(
        remote="s3://bucket/mds", local=cache, shuffle=True, batch_size=BATCH, predownload=8 * BATCH
    )
    # With two workers version 0.13 reads shards that are not whole yet, or waits for a minute, in
    # most runs.
    yield from torch_batches(dataset, 1)


def litdata(cache, workers):
    from litdata import StreamingDataLoader, StreamingDataset
    from litdata.streaming import downloader

    # Its options name an endpoint, but do not let it be one without TLS.
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = "true"

    class Images(StreamingDataset):
        def __getitem__(self, index):
            return decoded(super().__getitem__(index)["image"])

    options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    dataset = Images("s3://bucket/lit", cache_dir=cache, shuffle=True, storage_options=options)
    yield from map(len, StreamingDataLoader(dataset, batch_size=BATCH, num_workers=workers))


def webdataset(cache, workers):
    import webdataset

    # Without the tool of a cloud: the same objects over plain HTTP.
    base = os.environ["AWS_ENDPOINT_URL"] + "/bucket/wds"
    manifest = subprocess.check_output(["curl", "-s", f"{base}/fdconvert.json"])
    names = re.findall(rb'"(train-\d+\.tar)"', manifest)
    shards = [f"pipe:curl -s {base}/{name.decode()}" for name in sorted(set(names))]
    dataset = webdataset.WebDataset(shards, shardshuffle=len(shards)).shuffle(1000)
    dataset = dataset.map(lambda sample: decoded(sample["jpg"]))
    yield from torch_batches(dataset, min(workers, len(shards)))


RIVALS = {
    "fdconvert": (ours(), "fdconvert"),
    "fdconvert, in order": (ours(in_order=True), "fdconvert"),
    "fdconvert, 256 requests in flight": (ours(fetch_threads=256), "fdconvert"),
    "fdconvert, one request at a time": (ours(fetch_threads=1, ahead_bytes=0), "fdconvert"),
    "MosaicML Streaming, one worker": (streaming, "streaming"),
    "LitData": (litdata, "litdata"),
    "webdataset": (webdataset, "webdataset"),
}


def one(name, workers):
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


def served(server, stores, latency, command):
    """Runs the command with a store of its own; what it printed, and what the server was asked for."""
    with subprocess.Popen(
        [server, "stores", stores, "--latency", str(latency)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as store:
        env = dict(os.environ)
        for line in store.stdout:
            if line.startswith("#"):
                break
            name, _, value = line.removeprefix("export ").strip().partition("=")
            env[name] = value
        # For MosaicML Streaming.
        env["S3_ENDPOINT_URL"] = env["AWS_ENDPOINT_URL"]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        asked, _ = store.communicate("\n")
    counts = dict(re.findall(r"(\w+): (\d+)", asked))
    return done, {name: int(counts[name]) for name in ("requests", "bytes")}


def run(args, stores):
    rates = {}
    for _ in range(args.rounds):
        for name, (_, module) in RIVALS.items():
            if not available(module):
                rates.setdefault(name, "not installed")
                continue
            command = [sys.executable, __file__, "--one", name, "--workers", str(args.workers)]
            done, asked = served(args.server, stores, args.latency, command)
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            if done.returncode != 0 or not lines:
                rates[name] = f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
                continue
            rates.setdefault(name, []).append(json.loads(lines[-1]) | asked)
    print("| loader | images/s | range | first batch, s | CPU-ms an image | requests | MB received |")
    print("|---|---|---|---|---|---|---|")
    for name, found in rates.items():
        if isinstance(found, str):
            print(f"| {name} | {found} | | | | | |")
            continue
        rate = sorted(one["images"] / one["seconds"] for one in found)
        middle = lambda of: statistics.median(map(of, found))
        print(
            f"| {name} | {statistics.median(rate):.0f} | {rate[0]:.0f}-{rate[-1]:.0f} "
            f"| {middle(lambda it: it['first']):.2f} | {middle(lambda it: it['cpu'] / it['images'] * 1000):.2f} "
            f"| {middle(lambda it: it['requests']):.0f} | {middle(lambda it: it['bytes'] / 1e6):.1f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", type=Path, nargs="?")
    parser.add_argument("images", type=Path, nargs="?")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--latency", type=int, default=65)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        one(args.one, args.workers)
        return
    with tempfile.TemporaryDirectory() as stores:
        bucket = Path(stores, "bucket")
        bucket.mkdir()
        prepare(args.images, bucket, args.samples)
        run(args, stores)


if __name__ == "__main__":
    main()
