"""Datasets by URL: from a web server of this process, which answers ranges."""

import http.server
import pickle
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import fdconvert
import numpy as np
import pytest


class Ranges(http.server.BaseHTTPRequestHandler):
    """Serves the folder `root` of its server."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.server.root, self.path.lstrip("/"))  # type: ignore[attr-defined]
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = path.read_bytes()
        start, end = 0, len(content)
        if wanted := self.headers.get("Range"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last) + 1, end)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[start:end])

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Bucket(http.server.BaseHTTPRequestHandler):
    """Answers as S3 for the bucket ``b``, with the objects of its server."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        objects: dict[str, bytes] = self.server.objects  # type: ignore[attr-defined]
        parts = urllib.parse.urlsplit(self.path)
        name = urllib.parse.unquote(parts.path.removeprefix("/b").lstrip("/"))
        query = dict(urllib.parse.parse_qsl(parts.query))
        content = self.names(query) if "list-type" in query else objects.get(name)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT")
        self.send_header("ETag", '"x"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content or b"")

    do_HEAD = do_GET

    def names(self, query: dict[str, str]) -> bytes:
        objects: dict[str, bytes] = self.server.objects  # type: ignore[attr-defined]
        prefix, after = query.get("prefix", ""), query.get("start-after", "")
        found: dict[str, str] = {}
        for name in sorted(objects):
            folder, slash, _ = name.removeprefix(prefix).partition("/")
            if query.get("delimiter") and slash:
                shown = f"{prefix}{folder}/"
                text = f"<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>"
            else:
                shown, size = name, len(objects[name])
                date = "<LastModified>2026-11-01T00:00:00.000Z</LastModified>"
                text = f'<Contents><Key>{name}</Key>{date}<ETag>"x"</ETag><Size>{size}</Size></Contents>'
            if name.startswith(prefix) and shown > query.get("continuation-token", after):
                found[shown] = text
        most = int(query.get("max-keys", "1000"))
        more = "<IsTruncated>false</IsTruncated>"
        if len(found) > most:
            token = f"<NextContinuationToken>{list(found)[most - 1]}</NextContinuationToken>"
            more = f"<IsTruncated>true</IsTruncated>{token}"
        content = "".join(list(found.values())[:most])
        return f"<ListBucketResult>{more}{content}</ListBucketResult>".encode()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def url(tmp_path: Path, photos: Path) -> Iterator[str]:
    (tmp_path / "served").mkdir()
    fdconvert.pack(photos, tmp_path / "served" / "wds", format="wds", shards=2)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    server.root = tmp_path / "served"  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/wds"
    server.shutdown()


def test_a_url_is_a_path(url: str, tmp_path: Path) -> None:
    local = tmp_path / "served" / "wds"
    here, there = fdconvert.Dataset(local), fdconvert.Dataset(url)
    assert len(here) == len(there)
    for index in range(len(here)):
        np.testing.assert_array_equal(here[index]["image"], there[index]["image"])
    fdconvert.unpack(url, tmp_path / "unpacked")
    assert len(list((tmp_path / "unpacked").rglob("*.png"))) == len(here)


def test_batches_are_those_of_the_disk(url: str, tmp_path: Path) -> None:
    def batches(path: str | Path) -> list[np.ndarray]:
        loader = fdconvert.Loader(path, 4, seed=3, storage=fdconvert.Storage(fetch_threads=4), output="numpy")
        loader = pickle.loads(pickle.dumps(loader))
        return [images.copy() for images, _ in loader]

    for here, there in zip(batches(tmp_path / "served" / "wds"), batches(url), strict=True):
        np.testing.assert_array_equal(here, there)


def test_fields_beside_images_are_compared_with_their_checksums(
    photos: Path, tmp_path: Path
) -> None:
    tables = {file.relative_to(photos): n for n, file in enumerate(sorted(photos.rglob("*.png")))}
    lines = [f"{file},photo {number} of all" for file, number in tables.items()]
    (tmp_path / "labels.csv").write_text("\n".join(["path,caption", *lines]) + "\n")
    local = tmp_path / "served" / "wds"
    local.parent.mkdir()
    fdconvert.pack(photos, local, labels=tmp_path / "labels.csv", format="wds", shards=2)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    server.root = tmp_path / "served"  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        path = f"http://127.0.0.1:{server.server_port}/wds"

        def captions() -> list[str]:
            loader = fdconvert.Loader(path, 4, label=None, fields=["caption"])
            return [caption for _, _, fields in loader for caption in fields["caption"]]

        assert sorted(captions()) == sorted(f"photo {n} of all" for n in tables.values())
        for shard in local.glob("*.tar"):
            shard.write_bytes(shard.read_bytes().replace(b"photo 7 of", b"photo 8 of"))
        with pytest.raises(fdconvert.Error, match="checksum"):
            captions()
    finally:
        server.shutdown()


def test_a_cache_in_a_folder_spares_reads(url: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for epochs, hits in [(2, 12), (1, 12)]:
        loader = fdconvert.Loader(url, 4, cache=fdconvert.Cache(1 << 26, cache))
        for _ in range(epochs):
            for _ in loader:
                pass
        assert loader.stats()["hits"] == hits


def test_errors_are_those_of_files(url: str) -> None:
    with pytest.raises(OSError, match="nothing"):
        fdconvert.Dataset(url.replace("/wds", "/nothing"))
    with pytest.raises(fdconvert.UsageError, match="must begin with one of"):
        fdconvert.Dataset("ftp://host/x")
    with pytest.raises(fdconvert.UsageError, match="regoin"):
        fdconvert.set_store_options({"regoin": "eu"})


def test_names_that_a_store_cannot_list_are_told(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = next(photos.glob("*/*")).read_bytes()
    names = ("d/a/1.png", "d/b//2.png", "d/b/3.png")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    server.objects = dict.fromkeys(names, content)  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in (
        ("ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}"), ("REGION", "us-east-1"),
        ("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "x"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    try:
        left_out = "1 name in the store is left out.*d/b//"
        with pytest.warns(RuntimeWarning, match=left_out):
            assert len(fdconvert.Dataset("s3://b/d")) == 2
        with pytest.warns(RuntimeWarning, match=left_out):
            fdconvert.Loader("s3://b/d")
    finally:
        server.shutdown()
