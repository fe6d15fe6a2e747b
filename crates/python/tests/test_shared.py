"""One dataset by several processes: plans, parts, and engines where they are installed."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import fdconvert
import pytest

RECIPE: dict[str, Any] = {
    "format": "wds",
    "jpeg_quality": 80,
    "max_side": 128,
    "shard_count": 2,
    "shuffle": True,
}


def hashes(out: Path) -> dict[str, str]:
    """Every file but the copy of the plan, which only shared datasets have."""
    files = [path for path in out.rglob("*") if path.is_file() and path.suffix != ".fdplan"]
    found = {str(path.relative_to(out)): path.read_bytes() for path in files}
    return {name: hashlib.sha256(bytes_).hexdigest() for name, bytes_ in found.items()}


@pytest.fixture(scope="module")
def whole(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("whole") / "out"
    fdconvert.pack(photos, out, **RECIPE)
    return hashes(out)


def test_parts_are_merged(
    photos: Path, whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, out = tmp_path / "p.fdplan", tmp_path / "out"
    planned = fdconvert.plan(photos, plan, **RECIPE)
    assert (planned["samples"], planned["shards"]) == (12, 6)
    with pytest.raises(fdconvert.UsageError, match="their number: parts"):
        monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
        fdconvert.pack_plan(plan, out, part="auto")
    assert fdconvert.pack_plan(plan, out, part="auto", parts=2)["samples"] == 6
    with pytest.raises(fdconvert.UsageError, match="train-000001"):
        fdconvert.merge(out)
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    assert fdconvert.pack_plan(plan, out, part="auto", parts=2)["samples"] == 6
    assert fdconvert.merge(out)["shards"] == 6
    assert hashes(out) == whole


def test_what_does_not_go_together_is_refused(photos: Path, tmp_path: Path) -> None:
    plan, out = tmp_path / "p.fdplan", tmp_path / "out"
    fdconvert.plan(photos, plan, **RECIPE)
    wrong: list[dict[str, Any]] = [
        {"part": "3/2"},
        {"part": "1/2", "parts": 2},
        {"parts": 2},
    ]
    for how in wrong:
        with pytest.raises(fdconvert.UsageError):
            fdconvert.pack_plan(plan, out, **how)
    assert not out.exists()


def test_the_command_starts_ray_or_says_what_is_missing(
    photos: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    plan, out = tmp_path / "p.fdplan", tmp_path / "out"
    fdconvert.plan(photos, plan, **RECIPE)
    command = [sys.executable, "-m", "fdconvert", "pack", "--engine", "ray"]
    command += ["--plan", str(plan), str(out)]
    bare = {"FDCONVERT_PYTHON": str(tmp_path / "no-python"), "PATH": ""}
    refused = subprocess.run(command, env=bare, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "FDCONVERT_PYTHON" in refused.stderr, refused.stderr
    assert not out.exists()
    pytest.importorskip("ray", reason="Ray is not installed")
    packed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    assert json.loads(packed.stdout)["samples"] == 12, packed
    assert hashes(out) == whole


def program_of_the_guide(package: str) -> str:
    guide = (Path(__file__).parents[3] / "docs/guide/cluster.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in guide.split("```python no-run: ")[1:]]
    # Without the reason.
    blocks = [block.split("\n", 1)[1] for block in blocks]
    return next(block for block in blocks if package in block)


def test_the_spark_program_of_the_guide_works(
    photos: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="Spark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    program = program_of_the_guide("pyspark").replace("/data/", f"{tmp_path}/")
    # Two workers of this machine, reached by the loopback interface, no page to look at.
    small = 'builder.master("local[2]").config("spark.ui.enabled", "false")'
    program = program.replace("builder", small)
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    fdconvert.plan(photos, tmp_path / "train.fdplan", **RECIPE)
    here = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120, env=os.environ | here)
    assert hashes(tmp_path / "shards") == whole


def test_the_dask_program_of_the_guide_works(
    photos: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("dask.distributed", reason="Dask is not installed")
    program = program_of_the_guide("dask")
    # A small cluster: two processes, no page to look at.
    small = "Client(n_workers=2, threads_per_worker=1, dashboard_address=None)"
    (tmp_path / "program.py").write_text(program.replace("Client()", small), encoding="utf-8")
    fdconvert.plan(photos, tmp_path / "train.fdplan", **RECIPE)
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True, timeout=120)
    assert hashes(tmp_path / "shards") == whole


def test_a_lost_node_of_a_ray_cluster(tmp_path: Path, photos: Path) -> None:
    """Two nodes, one of which is removed in the middle: the same bytes."""
    ray: Any = pytest.importorskip("ray", reason="Ray is not installed")
    cluster_utils: Any = pytest.importorskip("ray.cluster_utils", reason="Ray has no test cluster here")
    import fdconvert.ray

    # Many times the photos, so that there is a middle.
    sources = [photos] * 60
    n_samples = 60 * 12
    recipe = RECIPE | {"shard_count": 1, "max_side": 256, "format": "mds"}
    fdconvert.pack(sources, tmp_path / "whole", **recipe)
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    lost = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        cluster.wait_for_nodes()
        out = tmp_path / "out"
        seen: list[tuple[int, int]] = []

        def progress(done: int, parts: int) -> None:
            if done == parts // 3:
                cluster.remove_node(lost, allow_graceful=False)
            seen.append((done, parts))

        packed = fdconvert.ray.pack(sources, out, progress=progress, **recipe)
        assert packed["samples"] == n_samples and not packed["skipped"]
        assert seen == [(done, 16) for done in range(1, 17)]
        assert hashes(out) == hashes(tmp_path / "whole")
    finally:
        ray.shutdown()
        cluster.shutdown()
