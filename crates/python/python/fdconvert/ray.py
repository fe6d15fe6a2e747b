"""Packs on a Ray cluster: plan, workers on the nodes, and a dataset that the last one completes.

Sources and output lie where every node sees them under the same path. Ray starts the workers and
starts those of lost nodes again; the workers share the shards by leases (``pack_plan`` with
``claim=True``). A lease keeps two workers from one shard also where Ray has given up a node that
still runs, as behind a broken network, which fixed groups of shards for each task would not.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fdconvert
from fdconvert._options import Progress
from fdconvert._paths import StrPath, absolute

try:
    import ray
except ImportError as cause:
    raise ImportError(
        "fdconvert.ray needs Ray, which is not installed here; install it with: pip install ray"
    ) from cause

_POLL_SECONDS = 1.0
"""Between two looks at how far the workers are."""


def pack(
    sources: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    threads: int = 1,
    workers: int | None = None,
    lease: str | float | None = None,
    on_error: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Pack sources into a dataset of shards on all nodes and return what became of it.

    Each of ``workers`` tasks takes ``threads`` CPUs of a node; by default there are as many as fit
    into the cluster now, and no more than shards. A worker that was not heard of for ``lease``
    (60 s) has lost its shard to the others. ``progress`` is called with the shards that are done and
    all of them. ``options`` are those of ``fdconvert.plan``.

    A run that was stopped is resumed by the same call. Ray is started on this machine if it is
    not connected to a cluster yet (``ray.init(address=...)``).
    """
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.fdplan"
        fdconvert.plan(_sources(sources), plan, **options)
        return pack_plan(
            plan,
            out,
            threads=threads,
            workers=workers,
            lease=lease,
            on_error=on_error,
            progress=progress,
        )


def pack_plan(
    plan: StrPath,
    out: StrPath,
    *,
    threads: int = 1,
    workers: int | None = None,
    lease: str | float | None = None,
    on_error: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write what a plan says on all nodes and return what became of it; arguments as for ``pack``."""
    out = Path(out).absolute()
    planned = fdconvert.pack_plan(plan, out, dry_run=True)
    if not ray.is_initialized():
        ray.init()
    if workers is None:
        workers = int(ray.cluster_resources().get("CPU", 1)) // threads
    # More than shards would find nothing to do.
    workers = max(1, min(workers, planned["shards"]))
    contents = ray.put(Path(plan).read_bytes())
    # What a node was doing when it was lost is done again, however often that happens. An exception
    # is the data's or the user's, and the next try would end with it, too.
    task = ray.remote(num_cpus=threads, max_retries=-1, scheduling_strategy="SPREAD")(_work)
    how: dict[str, Any] = {"threads": threads, "lease": lease, "on_error": on_error}
    tasks = [task.remote(contents, str(out), how) for _ in range(workers)]
    reports = _wait(tasks, out, planned["shards"], progress)
    skipped = [sample for report in reports for sample in report["skipped"]]
    skipped = list({json.dumps(sample, sort_keys=True): sample for sample in skipped}.values())
    return {
        "out": str(out),
        "samples": planned["samples"] - len(skipped),
        "shards": planned["shards"],
        "skipped": skipped,
        "workers": [report["leases"] for report in reports],
    }


def _work(contents: bytes, out: str, how: dict[str, Any]) -> dict[str, Any]:
    """What one worker does, on its node."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.fdplan"
        plan.write_bytes(contents)
        return fdconvert.pack_plan(plan, out, claim=True, **how)


def _wait(
    tasks: list[Any], out: Path, shards: int, progress: Progress | None
) -> list[dict[str, Any]]:
    """The reports of all tasks; the first that fails stops the others."""
    waiting, shown = tasks, -1
    try:
        while waiting:
            ready, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=_POLL_SECONDS)
            ray.get(ready)
            done = _done(out) if waiting else shards
            if progress is not None and done != shown:
                shown = done
                progress(done, shards)
    except BaseException:
        for task in tasks:
            ray.cancel(task)
        raise
    reports: list[dict[str, Any]] = ray.get(tasks)
    return reports


def _done(out: Path) -> int:
    """Shards that are done, by the notes of the workers."""
    try:
        return sum(name.endswith(".done") for name in os.listdir(out / ".fdconvert" / "leases"))
    except FileNotFoundError:
        return 0


def _sources(sources: StrPath | Iterable[StrPath]) -> list[str]:
    """Sources as every node finds them."""
    listed = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    return [absolute(source) for source in listed]


def main() -> int:
    """Do what ``fdconvert pack --plan PLAN --engine ray OUT`` asks for, as one JSON object."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    plan, out, quiet = request.pop("plan"), request.pop("out"), request.pop("quiet")

    def progress(done: int, shards: int) -> None:
        if not quiet:
            print(f"packing on Ray  {done}/{shards} shards", file=sys.stderr)

    try:
        packed = pack_plan(plan, out, progress=progress, **request)
    except (fdconvert.Error, ray.exceptions.RayError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if not quiet:
        print(json.dumps(packed, indent=2))
    return 1 if packed["skipped"] else 0


if __name__ == "__main__":
    sys.exit(main())
