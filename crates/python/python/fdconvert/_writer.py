"""Packing of samples from Python."""

import json
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from fdconvert import _fdconvert
from fdconvert._errors import UsageError
from fdconvert._options import Option, Progress, given
from fdconvert._paths import StrPath
from fdconvert._samples import Sequenced, Streamed, fields_of
from fdconvert._schema import SchemaLike, of_sample, of_schema


class Writer:
    """Packs samples into a dataset, one at a time.

    ``write`` adds a sample: a dictionary or a tuple of its fields. ``schema`` maps the names of the
    fields to kinds; by default it comes from the first sample. All other options are those of
    ``pack``. ``close`` completes the dataset, which does not exist before. Leaving a ``with`` block
    by an exception discards the samples.

    WebDataset, MDS and Parquet pack samples as they come. Samples wait in a temporary folder
    ``PATH.samples.partial`` until ``close`` for other formats, if samples have keys, if an option
    selects, shuffles or splits them, and if an existing output is replaced.

    With ``append`` the samples are added to the dataset of shards at ``path``, whose next version
    ``close`` makes; ``keep_versions`` is then an option, and the report is that of ``append``.

    Threads may share a writer; samples are stored in the order of their ``write`` calls. Processes
    may not: ``write`` and ``close`` raise ``UsageError`` in a forked process.
    """

    def __init__(
        self,
        path: StrPath,
        *,
        schema: SchemaLike | None = None,
        format: str | None = None,
        encode: str | None = None,
        jpeg_quality: int | None = None,
        max_side: int | None = None,
        short_side: int | None = None,
        shuffle: bool = False,
        seed: int | None = None,
        split: Mapping[str, float | str] | None = None,
        shard_size: int | str | None = None,
        shards: int | None = None,
        on_error: str | None = None,
        overwrite: bool = False,
        append: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
        **options: Option,
    ) -> None:
        self._writer: _fdconvert.SampleWriter | None = None
        self._is_open = False
        # The process that wrote the first sample.
        self._process: int | None = None
        self._lock = threading.RLock()
        self._is_at_work = False
        self._n_written = 0
        named: dict[str, Option] = {
            "format": format,
            "encode": encode,
            "jpeg_quality": jpeg_quality,
            "max_side": max_side,
            "short_side": short_side,
            "shuffle": shuffle,
            "seed": seed,
            "split": split,
            "shard_size": shard_size,
            "shards": shards,
            "on_error": on_error,
            "overwrite": overwrite,
            "append": append or None,
            "threads": threads,
        }
        self._path = os.fspath(path)
        self._options = json.dumps(given(named | options))
        self._progress = progress
        self._name = type(self).__name__
        # Wrong options fail now, not after hours of writing.
        _fdconvert.check_pack(self._path, self._options)
        self._fields = None if schema is None else of_schema(schema)
        self._is_open = True

    def write(self, sample: Any, key: str | None = None) -> None:
        """Add a sample, which may be changed afterwards.

        ``key`` is its name, by default the sample's ``__key__`` or its number. Raises ``DataError``
        for a sample that does not fit; the writer continues without it.
        """
        # Before the lock: after a fork, a thread that no longer exists may hold it.
        self._check_process("write")
        with self._alone("write"):
            if not self._is_open:
                raise UsageError("write: the writer is closed")
            if self._writer is None:
                fields = self._fields or of_sample(sample)
                self._process = os.getpid()
                self._writer = _fdconvert.SampleWriter(
                    fields.document,
                    fields.masks,
                    fields.takes_some,
                    self._path,
                    self._options,
                    self._name,
                    self._progress,
                )
            self._writer.write(sample, key)
            self._n_written = len(self._writer)

    def close(self) -> dict[str, Any]:
        """Complete the dataset and return the report of ``pack``."""
        self._check_process("close")
        with self._alone("close"):
            if not self._is_open:
                raise UsageError("close: the writer is closed")
            self._is_open = False
            if self._writer is None or self._n_written == 0:
                raise UsageError("write: no sample was written")
            report: dict[str, Any] = json.loads(self._writer.close())
        return told(report, self._path)

    def discard(self) -> None:
        """Discard all samples and the unfinished output. Has no effect on a closed writer."""
        self._is_open = False
        if self._writer is not None and not self._is_foreign():
            with self._alone("discard"):
                self._writer.discard()

    def __len__(self) -> int:
        """Return the number of samples written so far."""
        return 0 if self._is_foreign() else self._n_written

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        """Serialise threads, and refuse a call within a call, which would wait for ever."""
        with self._lock:
            if self._is_at_work:
                inside = "the call came from a sample's code or a signal handler"
                raise UsageError(f"{what}: the writer is at work already: {inside}")
            self._is_at_work = True
            try:
                yield
            finally:
                self._is_at_work = False

    def _is_foreign(self) -> bool:
        """Return whether this process was forked from the one that writes."""
        return self._process is not None and self._process != os.getpid()

    def _check_process(self, what: str) -> None:
        if self._is_foreign():
            raise UsageError(
                f"{what}: process {self._process} writes the samples, and this one was forked off "
                "it; send it the samples, or let each process write its own output"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exception is not None:
            self.discard()
        elif self._is_open:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_is_open", False) and len(self) > 0:
            what = f"{self._path} was not written: close the Writer, or use it in a `with` block"
            # Python does not show a ResourceWarning by default, and samples are lost.
            warnings.warn(what, RuntimeWarning, stacklevel=2, source=self)


def told(report: dict[str, Any], out: StrPath) -> dict[str, Any]:
    """Return the report, after warnings.

    They are about a dataset that was complete before, and about files that could not be removed.
    """
    for left in _fdconvert.left_files():
        warnings.warn(left, RuntimeWarning, stacklevel=3)
    n_done = report.get("samples", 0) + len(report.get("skipped", ()))
    if n_done > 0 and report.get("resumed") == n_done:
        what = (
            f"{os.fspath(out)} was complete already, so nothing was written; overwrite=True "
            "writes it again"
        )
        warnings.warn(what, RuntimeWarning, stacklevel=3)
    return report


def pack_samples(
    found: Sequenced | Streamed,
    out: StrPath,
    schema: SchemaLike | None,
    options: Mapping[str, Option],
    progress: Progress | None,
) -> dict[str, Any]:
    """Pack samples and return the report."""
    if isinstance(found, Streamed):
        writer = Writer(out, schema=schema or found.schema, progress=progress, **options)  # type: ignore[arg-type]
        # The dataset records the type of the caller's object as its source.
        writer._name = found.name
        with writer:
            for sample in found.samples if schema else found.converted():
                writer.write(sample)
            return writer.close()
    if len(found.samples) == 0:
        raise UsageError("sources: empty; a dataset needs at least one sample")
    first = found.samples[0] if schema is None and found.schema is None else None
    fields = fields_of(found, schema, first)
    report: dict[str, Any] = json.loads(
        _fdconvert.pack_samples(
            found.converted() if schema is None else found.samples,
            fields.document,
            fields.masks,
            fields.takes_some,
            os.fspath(out),
            json.dumps(given(options)),
            found.name,
            progress,
        )
    )
    return told(report, out)
