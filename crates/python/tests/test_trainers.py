"""The programs of examples/trainers: killed in an epoch and resumed, they have the batches of a whole run."""

import importlib.util
import inspect
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fdconvert
import pytest
from fdconvert import transforms as T
from fdconvert.timm import create_loader, create_mixup, create_transform

EXAMPLES = Path(__file__).parents[3] / "examples"
STOP, N_STEPS = 4, 6
"""Steps before the kill, which is in the second of two epochs, and of a whole run."""

Steps = dict[tuple[int, int, str], str]


@dataclass
class Program:
    """A program, what it needs and how it is started."""

    name: str
    needs: list[str]
    n_processes: int = 1
    environment: dict[str, str] = field(default_factory=dict)
    # The first step after the kill.
    resumes: int = STOP + 1
    dataset: str = "train.beton"

    def __str__(self) -> str:
        return "-".join([self.name, *(value for value in self.environment.values() if value.isalpha())])


TWO_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
PROGRAMS = [
    Program("ddp", ["torch"], n_processes=2),
    Program("lightning_module", ["torch", "lightning"]),
    Program("hf_trainer", ["torch", "transformers", "accelerate"]),
    Program("accelerate_loop", ["torch", "accelerate"]),
    Program("timm_train", ["torch", "timm"]),
    # Its checkpoints are those of whole epochs.
    Program(
        "ultralytics_yolo",
        ["torch", "ultralytics"],
        environment={"YOLO_OFFLINE": "1"},
        resumes=4,
        dataset="photos",
    ),
    Program("keras_fit", ["torch", "keras"], environment={"KERAS_BACKEND": "torch"}),
    Program("keras_fit", ["jax", "keras"], environment={"KERAS_BACKEND": "jax"}),
    Program("jax_sharded", ["jax"], environment=TWO_DEVICES),
    Program("sklearn_partial_fit", ["sklearn"]),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample photos, and packed."""
    folder = tmp_path_factory.mktemp("data")
    sample = [sys.executable, "-m", "fdconvert", "sample", "photos", "--quiet"]
    subprocess.run(sample, cwd=folder, check=True)
    fdconvert.pack(folder / "photos", folder / "train.beton")
    return folder


def needs(*modules: str) -> None:
    """Skip a test of a program, without importing what it needs."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def run(program: Program, folder: Path, data: Path, *arguments: str, n_processes: int = 0) -> tuple[int, Steps]:
    """Run a program in a folder; return how it ended, and what it said of each step."""
    folder.mkdir(exist_ok=True)
    n_processes = n_processes or program.n_processes
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n_processes)]
    command = [sys.executable, *(several if program.n_processes > 1 else [])]
    command += [str(EXAMPLES / "trainers" / f"{program.name}.py"), str(data / program.dataset), *arguments]
    result = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | program.environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    # Two processes may share a line.
    found = re.findall(r"epoch (\d+) step (\d+)( rank \d+)?: (.*?)(?=epoch|$)", result.stdout, re.MULTILINE)
    if not arguments:
        assert result.returncode == 0, result.stderr
    return result.returncode, {(int(epoch), int(step), rank): text for epoch, step, rank, text in found}


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_killed_and_resumed(program: Program, data: Path, tmp_path: Path) -> None:
    needs(*program.needs)
    _, whole = run(program, tmp_path / "whole", data)
    steps = {(epoch, step) for epoch, step, _ in whole}
    assert steps == {((step - 1) // 3, step) for step in range(1, N_STEPS + 1)}
    assert len(set(whole.values())) == N_STEPS * program.n_processes

    status, killed = run(program, tmp_path / "killed", data, "--stop-after", str(STOP))
    # torchrun has a status of its own.
    assert status == (1 if program.n_processes > 1 else -signal.SIGKILL)
    assert killed == {key: text for key, text in whole.items() if key[1] <= STOP}

    _, resumed = run(program, tmp_path / "killed", data)
    assert resumed == {key: text for key, text in whole.items() if key[1] >= program.resumes}


def test_another_number_of_processes(data: Path, tmp_path: Path) -> None:
    program = PROGRAMS[0]
    needs(*program.needs)

    def samples(steps: Steps) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for (_, step, _), text in steps.items():
            numbers = {int(number) for number in re.findall(r"\d+", text.split("]")[0])}
            assert not found.setdefault(step, set()) & numbers
            found[step] |= numbers
        return found

    _, killed = run(program, tmp_path, data, "--stop-after", str(STOP))
    _, resumed = run(program, tmp_path, data, n_processes=1)
    batches = samples(killed) | samples(resumed)
    for epoch in range(2):
        assert set().union(*(batches[step] for step in range(3 * epoch + 1, 3 * epoch + 4))) == set(range(12))
    _, alone = run(program, tmp_path / "alone", data, n_processes=1)
    assert samples(alone) == batches


def test_detection(tmp_path: Path) -> None:
    needs("torch", "torchvision", "PIL")
    command = [sys.executable, str(EXAMPLES / "detection.py"), "--steps", "2"]
    said = [subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout for _ in range(2)]
    assert said[0] == said[1] and said[0].count("loss") == 2 and "nan" not in said[0]


class TestTimm:
    """timm's arguments as lists of transforms."""

    def test_a_recipe(self) -> None:
        with pytest.warns(RuntimeWarning) as said:
            found = create_transform(
                (3, 64, 64),
                is_training=True,
                auto_augment="rand-m9-mstd0.5-inc1",
                interpolation="random",
                re_prob=0.25,
                re_mode="pixel",
                re_count=1,
                num_aug_splits=0,
            )
        assert ["interpolation" in str(said[0].message), "mstd" in str(said[1].message), len(said)] == [True, True, 2]
        change = T.RandomApply([T.RandAugment(1, 27, fill=[124, 116, 104])], 0.5)
        assert found == [
            T.RandomResizedCrop([64, 64]),
            T.RandomHorizontalFlip(),
            change,
            change,
            T.RandomErasing(0.25, (0.02, 1 / 3), (0.3, 1 / 0.3), "random"),
            T.Normalize(T.IMAGENET_MEAN, T.IMAGENET_STD),
            T.ToDtype("f32"),
            T.ToLayout("nchw"),
        ]

    def test_mixup(self) -> None:
        assert create_mixup(0.8, 1.0, prob=0.5, switch_prob=0.3, num_classes=9) == T.RandomApply(
            [T.RandomChoice([T.MixUp(0.8, 9), T.CutMix(1.0, 9)], [0.7, 0.3])], 0.5
        )
        assert create_mixup(0.0, 1.0) == T.RandomApply([T.CutMix(1.0)], 1.0)
        with pytest.raises(fdconvert.UsageError, match="mixup_alpha"):
            create_mixup(0.0, 0.0)

    @pytest.mark.parametrize(
        ("argument", "value", "cure"),
        [
            ("use_prefetcher", True, "use False"),
            ("re_count", 3, "use 1"),
            ("re_mode", "rand", "pixel"),
            ("auto_augment", "v0", "original"),
            ("auto_augment", "rand-m9-tweights", "rand-m9"),
            ("crop_mode", "squash", "use None"),
            ("colour_jitter", 0.4, "leave it out"),
        ],
    )
    def test_refused(self, argument: str, value: Any, cure: str) -> None:
        with pytest.raises(fdconvert.UsageError, match=f"{argument}.*{cure}"):
            create_transform(64, is_training=True, re_prob=0.1, **{argument: value})

    def test_evaluation_is_that_of_timm(self, data: Path) -> None:
        pytest.importorskip("torch")
        timm = pytest.importorskip("timm")
        image = pytest.importorskip("PIL.Image")
        loader = create_loader(data / "train.beton", (3, 64, 64), 12, crop_pct=0.9, distributed=False)
        ((images, _),) = loader
        theirs = timm.data.create_transform((3, 64, 64), crop_pct=0.9, interpolation="bilinear")
        for row, photo in zip(images, sorted(data.glob("photos/*/*.jpg")), strict=True):
            assert (row - theirs(image.open(photo))).abs().mean() < 0.05

    def test_all_arguments_of_timm(self, data: Path) -> None:
        pytest.importorskip("torch")
        timm = pytest.importorskip("timm")
        parameters = inspect.signature(timm.data.create_loader).parameters.values()
        defaults = {it.name: it.default for it in parameters if it.default is not it.empty}
        ((images, _), *rest) = create_loader(data / "train.beton", 64, 4, **defaults | {"use_prefetcher": False})
        assert images.shape == (4, 3, 64, 64) and len(rest) == 2

    def test_timm_is_not_imported(self) -> None:
        program = "import sys, fdconvert.timm; assert not {'timm', 'torch', 'numpy'} & set(sys.modules)"
        subprocess.run([sys.executable, "-P", "-c", program], check=True)


def test_batches_are_those_of_ultralytics(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOLO_OFFLINE", "1")
    torch = pytest.importorskip("torch")
    pytest.importorskip("ultralytics")
    from fdconvert.ultralytics import Batches
    from ultralytics.cfg import get_cfg
    from ultralytics.data import build_yolo_dataset

    folder = tmp_path / "yolo"
    for number, photo in enumerate(sorted(data.glob("photos/*/*.jpg"))):
        (folder / "images" / "val").mkdir(parents=True, exist_ok=True)
        (folder / "labels" / "val").mkdir(parents=True, exist_ok=True)
        (folder / "images" / "val" / photo.name).write_bytes(photo.read_bytes())
        boxes = [f"{box % 2} 0.4 0.{3 + box} 0.3{number % 10} 0.2\n" for box in range(number % 3)]
        (folder / "labels" / "val" / photo.stem).with_suffix(".txt").write_text("".join(boxes))
    names = {"names": {0: "one", 1: "two"}, "nc": 2, "channels": 3}
    (folder / "data.yaml").write_text("train: images/val\nval: images/val\nnames: " + json.dumps(["one", "two"]))
    fdconvert.pack(folder, tmp_path / "boxes.beton")

    dataset = build_yolo_dataset(get_cfg(overrides={"imgsz": 64}), str(folder / "images/val"), 4, names, mode="val")
    loader = fdconvert.Loader(
        tmp_path / "boxes.beton",
        4,
        sampling=fdconvert.Sequential(),
        transform=[T.Letterbox(64, 114), T.ToLayout("nchw")],
        label=None,
        objects="objects",
        output="torch",
    )
    batches = Batches(loader, 4)
    assert len(batches) == 3 and len(batches.sampler) == len(batches.dataset) == 12
    order = {Path(label["im_file"]).name: number for number, label in enumerate(dataset.labels)}
    n_boxes = 0
    for ours in batches:
        theirs = dataset.collate_fn([dataset[order[Path(name).name]] for name in ours["im_file"]])
        assert ours["img"].dtype == theirs["img"].dtype and ours["img"].shape == theirs["img"].shape
        assert (ours["img"].float() - theirs["img"].float()).abs().mean() < 12
        assert ours["ori_shape"] == list(theirs["ori_shape"])
        for name in ("cls", "batch_idx"):
            assert torch.equal(ours[name], theirs[name]) and ours[name].dtype == theirs[name].dtype
        # Ultralytics rounds the place of the image in its frame, by up to a pixel.
        torch.testing.assert_close(ours["bboxes"], theirs["bboxes"], atol=1 / 64, rtol=0)
        for mine, other in zip(ours["ratio_pad"], theirs["ratio_pad"], strict=True):
            assert mine[0] == pytest.approx(other[0], abs=0.01) and mine[1] == pytest.approx(other[1], abs=1)
        n_boxes += len(ours["cls"])
    assert n_boxes == 12
