"""What the checks share: a bucket, the command, and the same datasets on a disk."""
import shutil

from clients import hashes
from command import DATASETS, Command, same, tree


class Skipped(Exception):
    """A check that a server cannot judge; its text says why."""


class Stage:
    def __init__(self, client, program, work, quick):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.client, self.work, self.quick = client, work, quick
        self.command = Command(program, client.environment)
        self.bucket = "bucket"
        client.make(self.bucket)
        self.photos = work / "photos"
        self.command.ok("sample", self.photos)
        self.here = work / "here"
        self.here.mkdir()
        for name, options in DATASETS.items():
            self.command.ok("pack", self.photos, self.here / name, *options)
        # Seconds that a run took which was not disturbed.
        self.seconds = {}

    def url(self, key):
        return f"{self.client.scheme}://{self.bucket}/{key}"

    def upload(self, path, key, **options):
        """Copies a file or a folder, by the server's own client."""
        for name in tree(path):
            file = path / name if name else path
            self.client.put(self.bucket, f"{key}/{name}".rstrip("/"), file.read_bytes(), **options)

    def published(self, folder="given"):
        """The datasets of the disk below a folder of the bucket, by the server's own client."""
        if not self.client.list(self.bucket, folder + "/"):
            for name in DATASETS:
                self.upload(self.here / name, f"{folder}/{name}")
        return {name: self.url(f"{folder}/{name}") for name in DATASETS}

    def equal(self, key, path):
        """The objects have to be the files. Returns how many they are."""
        return same(hashes(self.client, self.bucket, key), tree(path), self.url(key))

    def needs_writing(self):
        if not self.client.writes:
            raise Skipped("the server does not take the requests by which objects are written")

    def needs_uploads(self):
        if self.client.scheme != "s3":
            raise Skipped("only S3 has a list of unfinished uploads")
