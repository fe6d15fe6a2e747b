"""The five programs of "Loading for training", run as they are in a folder with its dataset."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import fdconvert

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "loader.md"
PROGRAMS = {
    heading: program
    for heading, program in re.findall(
        r"^### ([^\n]+)\n(?:(?!^#).)*?^```python no-run: needs torch[^\n]*\n(.*?)^```",
        PAGE.read_text(),
        re.MULTILINE | re.DOTALL,
    )
}


def test_there_are_five() -> None:
    assert len(PROGRAMS) == 5, list(PROGRAMS)


@pytest.mark.parametrize("heading", PROGRAMS)
def test_program(heading: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    if "torchvision" in PROGRAMS[heading]:
        pytest.importorskip("torchvision")
    # The commands at the top of the page.
    sample = [sys.executable, "-m", "fdconvert", "sample", "photos", "--quiet"]
    subprocess.run(sample, cwd=tmp_path, check=True)
    fdconvert.pack(tmp_path / "photos", tmp_path / "train.beton")
    # Twice: what left a checkpoint goes on from it.
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAMS[heading]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert run.returncode == 0, run.stderr
    assert "nan" not in run.stdout
