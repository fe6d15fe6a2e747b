"""The command that is judged, and what it is given to pack."""
import hashlib
import os
import random
import struct
import subprocess
from pathlib import Path

# Name of a dataset, and the options that make it of the small photos.
DATASETS = {
    "wds": ["--format", "wds", "--shards", "3"],
    "mds": ["--format", "mds", "--shards", "3"],
    "mds-zstd": ["--format", "mds", "--shards", "3", "--compression", "zstd"],
    "mixed": ["--format", "mixed", "--shards", "3", "--ratio", "0.5"],
    "keep.beton": ["--format", "beton", "--jpeg-index", "off"],
    "raw.beton": ["--format", "beton", "--encode", "raw"],
}
# The same of images that are large, so that objects are sent in parts.
LARGE = {
    "wds": ["--format", "wds", "--shards", "3"],
    "beton": ["--format", "beton", "--encode", "keep"],
    "mds": ["--format", "mds", "--shards", "3"],
    "mixed": ["--format", "mixed", "--shards", "3", "--ratio", "0.5"],
}
FORMULA = "fractal:fractaldb?classes=2&instances=100&size=32"


class Command:
    """`fdconvert` with the variables of a store."""

    def __init__(self, program, environment):
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("AWS_", "AZURE_", "GOOGLE_"))}
        self.program, self.environment = program, kept | environment

    def start(self, *args, env=None):
        return subprocess.Popen(
            [self.program, *map(str, args)],
            env=self.environment | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args, env=None, seconds=300):
        """Status, standard output and standard error."""
        child = self.start(*args, env=env)
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise AssertionError(f"{shown(args)}: not done after {seconds} s") from None
        return child.returncode, out, err

    def ok(self, *args, **kwargs):
        status, out, err = self.run(*args, **kwargs)
        assert status == 0, f"{shown(args)}: status {status}: {err.strip() or out.strip()}"
        return out

    def fails(self, said, *args, **kwargs):
        """It has to end with status 2, and to say all of these texts."""
        status, out, err = self.run(*args, **kwargs)
        assert status == 2, f"{shown(args)}: status {status} instead of 2: {err.strip() or out.strip()}"
        for part in said:
            assert part in err, f"{shown(args)}: `{part}` is not said: {err.strip()}"
        return err


def shown(args):
    return "fdconvert " + " ".join(map(str, args))


def tree(path):
    """SHA-256 of every file below a folder, or of the file itself, by its name."""
    path = Path(path)
    files = [path] if path.is_file() else sorted(it for it in path.rglob("*") if it.is_file())
    name = lambda file: "" if file == path else file.relative_to(path).as_posix()
    return {name(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def same(found, expected, what):
    """Fails with the names that differ."""
    missing, more = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    other = sorted(name for name in expected.keys() & found.keys() if expected[name] != found[name])
    parts = [("missing", missing), ("not expected", more), ("other bytes", other)]
    said = "; ".join(f"{word}: {', '.join(names[:5])}" for word, names in parts if names)
    assert not said, f"{what}: {said}"
    return len(expected)


def bmp(side, seed):
    """A square of noise, which no codec makes smaller."""
    n_bytes = side * ((side * 3 + 3) & ~3)
    head = struct.pack("<2s3I", b"BM", 54 + n_bytes, 0, 54)
    info = struct.pack("<3I2H6I", 40, side, side, 1, 24, 0, n_bytes, 0, 0, 0, 0)
    return head + info + random.Random(seed).randbytes(n_bytes)


def large_images(folder, n):
    """`n` BMPs of 1.5 MB."""
    (folder / "a").mkdir(parents=True)
    for number in range(n):
        (folder / f"a/{number:03}.bmp").write_bytes(bmp(700, number))
    return folder
