"""What a store has to do with datasets, one function for each check.

A check fails by `AssertionError`, and may say in a few words what it has compared.
"""
import json
import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from clients import hashes
from command import DATASETS, FORMULA, LARGE, bmp, large_images, same, tree
from stage import Skipped


def packed_from_a_disk(stage):
    """A dataset that is packed into the store has the bytes of the same dataset on the disk."""
    stage.needs_writing()
    n_objects = 0
    for name, options in DATASETS.items():
        stage.command.ok("pack", stage.photos, stage.url(f"disk/{name}"), *options)
        n_objects += stage.equal(f"disk/{name}", stage.here / name)
    stage.command.ok("pack", FORMULA, stage.here / "f.fdformula", "--format", "formula")
    stage.command.ok("pack", FORMULA, stage.url("disk/f.fdformula"), "--format", "formula")
    n_objects += stage.equal("disk/f.fdformula", stage.here / "f.fdformula")
    return f"{n_objects} objects"


def packed_from_store_to_store(stage):
    """The same for a source in the store, into another place of it."""
    stage.needs_writing()
    n_objects, sources = 0, stage.published()
    for source in ["wds"] if stage.quick else ["wds", "mds", "mixed", "keep.beton"]:
        for name, options in DATASETS.items():
            local = stage.work / "copy" / source / name
            local.parent.mkdir(parents=True, exist_ok=True)
            stage.command.ok("pack", stage.here / source, local, *options)
            key = f"copy/{source}/{name}"
            stage.command.ok("pack", sources[source], stage.url(key), *options)
            n_objects += stage.equal(key, local)
    return f"{n_objects} objects"


def packed_from_store_to_a_disk(stage):
    """The same from the store into a folder."""
    n_files, sources = 0, stage.published()
    for source in ["mds"] if stage.quick else DATASETS:
        for name in ["wds", "keep.beton"]:
            places = [stage.work / side / source / name for side in ("near", "back")]
            for place, origin in zip(places, (stage.here / source, sources[source])):
                place.parent.mkdir(parents=True, exist_ok=True)
                stage.command.ok("pack", origin, place, *DATASETS[name])
            n_files += same(tree(places[1]), tree(places[0]), sources[source])
    return f"{n_files} files"


def read_from_the_store(stage):
    """`inspect`, `verify --deep` and `unpack` say and write what they do of the disk."""
    n_files = 0
    for name, url in stage.published("read/a b").items():
        said = [json.loads(stage.command.ok("inspect", it, "--json")) for it in (url, stage.here / name)]
        for document in said:
            document.pop("path", None)
        assert said[0] == said[1], f"inspect {url}: {said[0]} instead of {said[1]}"
        stage.command.ok("verify", url, "--deep")
        there, here = stage.work / f"unpacked-{name}", stage.work / f"unpacked-here-{name}"
        stage.command.ok("unpack", url, there)
        stage.command.ok("unpack", stage.here / name, here)
        n_files += same(tree(there), tree(here), f"unpack {url}")
    return f"{n_files} files unpacked"


def read_as_training_does(stage):
    """The loader, with several requests in flight."""
    urls = list(stage.published().values())
    for url in urls[:1] if stage.quick else urls:
        options = ["--batch-size", "4", "--size", "32", "--rounds", "1", "--seconds", "1"]
        said = json.loads(stage.command.ok("bench", url, *options, "--fetch-threads", "8", "--json"))
        assert said.get("datasets"), f"bench {url}: {said}"


def read_as_from_a_web_server(stage):
    """Datasets by `http://`, where the server lets everybody read."""
    if not hasattr(stage.client, "web"):
        raise Skipped("the server has no objects at a path of a web server that all may read")
    for name in DATASETS:
        stage.upload(stage.here / name, f"web/{name}", public=True)
        stage.command.ok("verify", f"{stage.client.web(stage.bucket)}/web/{name}", "--deep")


def complete_and_refused(stage):
    """The same command finds the dataset complete, another one is refused until `--overwrite`."""
    stage.needs_writing()
    for name, options in list(DATASETS.items())[:1] if stage.quick else DATASETS.items():
        key = f"twice/{name}"
        url = stage.url(key)
        stage.command.ok("pack", stage.photos, url, *options)
        before = stage.client.list(stage.bucket, key)
        time.sleep(1.1)
        stage.command.ok("pack", stage.photos, url, *options)
        after = stage.client.list(stage.bucket, key)
        data = [it for it in before if it.endswith((".tar", ".mds", ".zstd", ".beton"))]
        assert data, f"{url}: no data among {sorted(before)}"
        assert all(before[it] == after.get(it) for it in data), f"{url}: data was written again"
        other = [*options, "--max-side", "40"]
        stage.command.fails([url, "--overwrite"], "pack", stage.photos, url, *other)
        stage.equal(key, stage.here / name)
        stage.command.ok("pack", stage.photos, url, *other, "--overwrite")
        local = stage.work / "other" / name
        local.parent.mkdir(exist_ok=True)
        stage.command.ok("pack", stage.photos, local, *other)
        stage.equal(key, local)


def images_in_the_store(stage):
    """A folder of images is a source: names with blanks and marks, and lists of several pages."""
    photo = (stage.photos / "scene/kodak-05.jpg").read_bytes()
    local = stage.work / "images"
    names = [
        "plain.jpg", "with blank.jpg", "ü-ñ-日本.jpg", "a+b.jpg", "a&b=c.jpg", "50%.jpg", "a%20b.jpg",
        "it's (2).jpg", "semi;colon,.jpg", "x@y:z.jpg", "dollar$!.jpg",
    ]
    small = bmp(2, 0)
    files = {f"cat egory/{name}": photo for name in names}
    files |= {f"many/{number:04}.bmp": small for number in range(50 if stage.quick else 1100)}
    for name, data in files.items():
        (local / name).parent.mkdir(parents=True, exist_ok=True)
        (local / name).write_bytes(data)
        stage.client.put(stage.bucket, f"images/{name}", data)
    packed = [stage.work / f"images-{side}/set" for side in ("here", "there")]
    for source, out in zip((local, stage.url("images")), packed):
        out.parent.mkdir()
        stage.command.ok("pack", source, out, "--format", "wds", "--threads", "16")
    same(tree(packed[1]), tree(packed[0]), stage.url("images"))
    return f"{len(files)} images"


def parts_and_merge(stage):
    """Two parts of one plan, and `merge`, next to the same on the disk."""
    stage.needs_writing()
    plan = stage.work / "p.fdplan"
    stage.command.ok("plan", stage.photos, "-o", plan, "--format", "wds", "--shards", "4")
    for out in (stage.work / "parts", stage.url("parts")):
        for part in ("1/2", "2/2"):
            stage.command.ok("pack", "--plan", plan, "--part", part, out)
        stage.command.ok("merge", out)
    stage.equal("parts", stage.work / "parts")


def large_sets(stage):
    """Images of which objects have several parts, packed on the disk; made once."""
    folder = stage.work / "large"
    if not folder.exists():
        large_images(folder, 6 if stage.quick else 24)
        for name, options in LARGE.items():
            (stage.here / f"large-{name}").mkdir()
            stage.command.ok("pack", folder, stage.here / f"large-{name}/set", *options)
    return folder


def large_objects(stage):
    """Objects that are sent in parts."""
    stage.needs_writing()
    images = large_sets(stage)
    for name, options in LARGE.items():
        began = time.monotonic()
        stage.command.ok("pack", images, stage.url(f"large-{name}/set"), *options)
        stage.seconds[name] = time.monotonic() - began
        stage.equal(f"large-{name}/set", stage.here / f"large-{name}/set")
    return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in stage.seconds.items())


def finished_shards(stage, key):
    """Shards whose record is there, and when they were written."""
    found = stage.client.list(stage.bucket, key + "/")
    stem = lambda name: name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    records = {stem(name) for name in found if "/.fdconvert/" in name and name.endswith(".json")}
    shards = (name for name in found if name.endswith((".tar", ".mds")) and stem(name) in records)
    return {name: found[name] for name in shards}


def killed_and_resumed(stage):
    """A pack that is killed at random moments, until it is complete: the same bytes, nothing else."""
    stage.needs_writing()
    images, chance, n_kills = large_sets(stage), random.Random(7), 0
    for name in ["wds"] if stage.quick else LARGE:
        key = f"killed-{name}/set"
        args = ["pack", images, stage.url(key), *LARGE[name]]
        done = {}
        for attempt in range(3 if stage.quick else 8):
            child = stage.command.start(*args)
            try:
                child.communicate(timeout=stage.seconds.get(name, 1.0) * chance.uniform(0.1, 0.95))
                break
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
                n_kills += 1
            now = finished_shards(stage, key)
            again = [it for it in done if now.get(it) != done[it]]
            assert not again, f"{stage.url(key)}: finished shards were written again: {again}"
            done = now
        stage.command.ok(*args)
        stage.equal(key, stage.here / f"large-{name}/set")
    assert n_kills, "every run was complete before it was to be killed"
    return f"{n_kills} kills"


def beton_resumed_at_its_parts(stage):
    """A large beton is killed behind its first note; the next run sends the rest, and no more."""
    stage.needs_writing()
    if stage.quick or stage.client.scheme == "az":
        raise Skipped("in the short form" if stage.quick else "Azure numbers parts by itself")
    images = large_images(stage.work / "larger", 100)
    here, key = stage.work / "larger.beton", "larger/x.beton"
    stage.command.ok("pack", images, here)
    args, note = ["pack", images, stage.url(key), "--json"], f"{key}.partial.journal/00000000"
    child, began = stage.command.start(*args), time.monotonic()
    while note not in stage.client.list(stage.bucket, note):
        assert child.poll() is None and time.monotonic() - began < 120, "no note was written"
    child.kill()
    child.communicate()
    resumed = json.loads(stage.command.ok(*args))["resumed"]
    assert 0 < resumed < 100, f"{resumed} samples of 100 were there"
    stage.equal(key, here)
    left = [it for it in stage.client.list(stage.bucket, "larger/") if it != key]
    assert not left, left
    return f"{resumed} of 100 samples were there"


def decides(stage):
    """Whether of two writers that make the same object at once only one is told that it did."""
    data = bytes(1 << 20)
    with ThreadPoolExecutor(2) as pool:
        for turn in range(40):
            put = lambda _, key=f"new/{turn}": stage.client.put_new(stage.bucket, key, data)
            if list(pool.map(put, range(2))).count(True) != 1:
                return False
    return True


def two_packers(stage):
    """Two runs at once into one place: both end well, or, where they differ, one is refused."""
    stage.needs_writing()
    outcomes, is_decided = [], decides(stage)
    for turn in range(1 if stage.quick else 3):
        for name, options in list(DATASETS.items())[: 2 if stage.quick else None]:
            for differs in (False, True) if is_decided else (False,):
                key = f"packers-{turn}-{differs}/{name}"
                url, more = stage.url(key), ["--max-side", "40"] if differs else []
                args = [["pack", stage.photos, url, *options], ["pack", stage.photos, url, *options, *more]]
                running = [stage.command.start(*it) for it in args]
                said = [child.communicate(timeout=300)[1].strip() for child in running]
                codes = [child.returncode for child in running]
                expected = [[0, 0]] if not differs else [[0, 2], [2, 0]]
                assert codes in expected, f"{url}: {codes}: {said}"
                found = hashes(stage.client, stage.bucket, key)
                for number in (it for it in (0, 1) if codes[it] == 0):
                    local = stage.work / f"packers-{number if differs else 0}" / name
                    local.parent.mkdir(exist_ok=True)
                    if not local.exists():
                        stage.command.ok(*args[number][:2], local, *args[number][3:])
                    # A refused packer may have left finished shards of its own beside them.
                    there = {it: found[it] for it in tree(local) if it in found}
                    same(there if differs else found, tree(local), url)
                claims = [it for it in found if it.endswith(".partial")]
                assert not claims, f"{url}: {claims}"
                outcomes.append(codes)
    of_different = "" if is_decided else (
        ", none of different ones: the server lets two writers make the same object"
    )
    return f"{len(outcomes)} runs{of_different}"


def cleaned(stage):
    """`clean` finds the uploads that another tool has begun, and gives them up."""
    stage.needs_writing()
    if stage.client.scheme != "s3":
        stage.command.fails(["is not in S3"], "clean", stage.url("x"))
        return "refused with the reason"
    try:
        stage.client.begin_upload(stage.bucket, "clean/set/a.tar")
        stage.client.begin_upload(stage.bucket, "clean/settee")
        before = stage.client.uploads(stage.bucket)
    except Exception as error:  # boto3 makes its errors when it runs.
        if "NotImplemented" not in str(error):
            raise
        stage.command.fails([stage.url("clean/set")], "clean", stage.url("clean/set"))
        raise Skipped("the server has no list of unfinished uploads; `clean` says so") from None
    url = stage.url("clean/set")
    said = stage.command.ok("clean", url, "--older-than", "0s", "--dry-run")
    assert "1 unfinished upload" in said, said
    assert stage.client.uploads(stage.bucket) == before, "--dry-run gave up uploads"
    if stage.client.tells_time_of_uploads():
        stage.command.ok("clean", url, "--older-than", "1d")
        assert stage.client.uploads(stage.bucket) == before, "uploads of now count as a day old"
    stage.command.ok("clean", url, "--older-than", "0s")
    left = stage.client.uploads(stage.bucket)
    assert "clean/set/a.tar" not in left and "clean/settee" in left, left
    stage.command.ok("clean", stage.url("").rstrip("/"), "--older-than", "0s")
    assert not stage.client.uploads(stage.bucket), stage.client.uploads(stage.bucket)
    return f"{len(before)} uploads, those of killed runs among them"


def no_such_bucket(stage):
    """An error that names the bucket's URL, and says that it is not there."""
    missing = f"{stage.client.scheme}://missing-bucket"
    said = [missing, *stage.client.says_of_missing_bucket]
    stage.command.fails(said, "verify", f"{missing}/x.beton")
    stage.command.fails(said, "pack", f"{missing}/folder", stage.work / "never.beton")
    if not stage.client.writes:
        return
    try:
        stage.client.put("another-missing-bucket", "x", b"x")
    except Exception:  # Each client has another error for it.
        for name, options in DATASETS.items():
            stage.command.fails(said, "pack", stage.photos, f"{missing}/{name}", *options)
    else:
        return "read only: the server makes the bucket of an object that is written"


def no_such_object(stage):
    """An error that names what is missing: the dataset, or a shard of it."""
    for name in ("none.beton", "folder/none"):
        for verb in ("verify", "inspect"):
            stage.command.fails([stage.url(name)], verb, stage.url(name))
    stage.upload(stage.here / "wds", "cut/wds")
    shard = next(it for it in stage.client.list(stage.bucket, "cut/wds") if it.endswith("1.tar"))
    stage.client.delete(stage.bucket, shard)
    status, out, err = stage.command.run("verify", stage.url("cut/wds"))
    assert status in (1, 2) and shard.rsplit("/")[-1] in out + err, f"{status}: {out}{err}"


def denied(stage):
    """Credentials that the server does not take: an error that says which."""
    if not stage.client.signatures:
        raise Skipped("the server checks no signatures")
    url = next(iter(stage.published().values()))
    # The answer to what a pack asks first has no body, and so no reason.
    general = "the store denies access; check the credentials"
    for what, variables, said in stage.client.wrong_credentials():
        pack = ["pack", stage.photos, stage.url("denied.beton")]
        for args, said in ((["verify", url], said), (pack, general)):
            err = stage.command.fails([said], *args, env=variables)
            # Keys do not belong into messages.
            assert not any(value in err for value in variables.values()), f"{what}: {err}"


def damaged(stage):
    """An object of which one byte is another one is named by `verify`."""
    for name in ("wds", "mds", "keep.beton"):
        stage.upload(stage.here / name, f"damaged/{name}")
        keys = stage.client.list(stage.bucket, f"damaged/{name}")
        key = next(key for key in keys if key.endswith(("1.tar", "1.mds", ".beton")))
        data = bytearray(stage.client.get(stage.bucket, key))
        # In the middle of an image.
        at = data.index(b"\xff\xd8\xff", len(data) // 3) + 1000
        data[at] ^= 1
        stage.client.put(stage.bucket, key, bytes(data))
        url, file = stage.url(f"damaged/{name}"), key.rsplit("/")[-1]
        status, out, err = stage.command.run("verify", url)
        assert status == 1 and file in out + err, f"verify {url}: {status}: {out}{err}"


CHECKS = [
    packed_from_a_disk,
    packed_from_store_to_store,
    packed_from_store_to_a_disk,
    read_from_the_store,
    read_as_training_does,
    read_as_from_a_web_server,
    complete_and_refused,
    images_in_the_store,
    parts_and_merge,
    large_objects,
    killed_and_resumed,
    beton_resumed_at_its_parts,
    two_packers,
    cleaned,
    no_such_bucket,
    no_such_object,
    denied,
    damaged,
]
