"""Packs on a Ray cluster: a plan, its parts as tasks, and a merge.

Sources and output must have the same path on every node. Ray restarts the tasks of a lost node; a
restarted part skips finished shards.
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

_PARTS_PER_TASK = 8
"""Parts per concurrent task: many, so that a lost node loses little."""


def pack(
    sources: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    threads: int = 1,
    parts: int | None = None,
    on_error: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Pack sources into a dataset of shards on all nodes and return the report of ``merge``.

    ``parts`` is the number of tasks, each of which uses ``threads`` CPUs of a node. By default it is
    eight times the number of tasks that fit into the cluster, but at most the number of shards.
    ``progress`` is called with the number of finished parts and their total. ``options`` are those
    of ``fdconvert.plan``.

    The same call resumes a stopped run. Ray starts on this machine unless it is already connected to
    a cluster (``ray.init(address=...)``).
    """
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.fdplan"
        fdconvert.plan(_sources(sources), plan, **options)
        return pack_plan(
            plan, out, threads=threads, parts=parts, on_error=on_error, progress=progress
        )


def pack_plan(
    plan: StrPath,
    out: StrPath,
    *,
    threads: int = 1,
    parts: int | None = None,
    on_error: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Carry out a plan on all nodes and return the report of ``merge``.

    The other arguments are those of ``pack``.
    """
    out = Path(out).absolute()
    planned = fdconvert.pack_plan(plan, out, dry_run=True)
    if not ray.is_initialized():
        ray.init()
    if parts is None:
        parts = _PARTS_PER_TASK * int(ray.cluster_resources().get("CPU", 1)) // threads
    parts = max(1, min(parts, planned["shards"]))
    contents = ray.put(Path(plan).read_bytes())
    # A node may be lost any number of times, so tasks are always retried. An exception comes from the
    # data or the options and would only come again.
    task = ray.remote(num_cpus=threads, max_retries=-1, scheduling_strategy="SPREAD")(_pack_part)
    how: dict[str, Any] = {"threads": threads, "on_error": on_error}
    tasks = [
        task.remote(contents, str(out), f"{part}/{parts}", how) for part in range(1, parts + 1)
    ]
    _wait(tasks, progress)
    return fdconvert.merge(out, plan=plan)


def _pack_part(contents: bytes, out: str, part: str, how: dict[str, Any]) -> None:
    """Pack one part; runs on a node."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.fdplan"
        plan.write_bytes(contents)
        fdconvert.pack_plan(plan, out, part=part, **how)


def _wait(tasks: list[Any], progress: Progress | None) -> None:
    """Wait for all tasks; cancel the others when one fails."""
    waiting = tasks
    try:
        while waiting:
            ready, waiting = ray.wait(waiting)
            ray.get(ready)
            if progress is not None:
                progress(len(tasks) - len(waiting), len(tasks))
    except BaseException:
        for task in tasks:
            ray.cancel(task)
        raise


def _sources(sources: StrPath | Iterable[StrPath]) -> list[str]:
    """Return the sources as absolute paths and URLs."""
    listed = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    return [absolute(source) for source in listed]


def main() -> int:
    """Run ``fdconvert pack --plan PLAN --engine ray OUT``, from a JSON object in the arguments."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    plan, out, quiet = request.pop("plan"), request.pop("out"), request.pop("quiet")

    def progress(done: int, parts: int) -> None:
        if not quiet:
            print(f"packing on Ray  {done}/{parts} parts", file=sys.stderr)

    try:
        merged = pack_plan(plan, out, progress=progress, **request)
    except (fdconvert.Error, ray.exceptions.RayError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if not quiet:
        print(json.dumps(merged, indent=2))
    return 1 if merged["skipped"] else 0


if __name__ == "__main__":
    sys.exit(main())
