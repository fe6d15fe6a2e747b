"""What the tests share: the sample photos, packed small."""

import shutil
from pathlib import Path

import pytest

import fdconvert

KODAK = Path(__file__).parents[3] / "tests" / "fixtures" / "kodak"


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve photos in the class folders ``even`` and ``odd``."""
    folder = tmp_path_factory.mktemp("photos")
    for number, photo in enumerate(sorted(KODAK.glob("*.png"))):
        target = folder / ("odd" if number % 2 else "even")
        target.mkdir(exist_ok=True)
        shutil.copy(photo, target)
    return folder


@pytest.fixture(scope="session")
def beton(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as JPEG of at most 96 pixels a side."""
    out = tmp_path_factory.mktemp("packed") / "kodak.beton"
    fdconvert.pack(photos, out, jpeg_quality=90, max_side=96)
    return out
