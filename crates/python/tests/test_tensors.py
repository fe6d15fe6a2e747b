"""Images as tensors, which convert themselves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samples
from samples import CLASSES, TorchLike

import fdconvert

class Tensor:
    """Converts itself, as tensors of torch do."""

    def __init__(self, pixels: Any) -> None:
        self.pixels = pixels

    def __array__(self) -> Any:
        return self.pixels


def packed(dataset: TorchLike, out: Path) -> Path:
    fdconvert.pack(
        dataset, out, format="wds", encode="png", schema={"image": "image", "label": CLASSES}
    )
    return out


def is_same(one: Path, other: Path) -> bool:
    found = fdconvert.diff(one, other)
    return bool(found["same"] == 30 and not found["changed"])


@pytest.mark.parametrize(
    "changed",
    [
        lambda image: image,
        lambda image: np.ascontiguousarray(image[:, :, 0]),
        lambda image: np.ascontiguousarray(image[:, :, :1]),
        lambda image: image[:, ::2],
        lambda image: image[::-1],
        lambda image: np.ascontiguousarray(np.moveaxis(image, -1, 0)).transpose(1, 2, 0),
    ],
    ids=["RGB", "gray", "one channel", "gaps", "backwards", "channels first"],
)
def test_tensors_are_packed_as_arrays_are(changed: Callable[[Any], Any], tmp_path: Path) -> None:
    images, labels = samples.cifar_like(30)
    images = [changed(image) for image in images]
    expected = packed(TorchLike(images, labels), tmp_path / "arrays")
    found = packed(TorchLike([Tensor(image) for image in images], labels), tmp_path / "tensors")
    assert is_same(expected, found)


class TestTorch:
    """The tensors of torch."""

    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        return pytest.importorskip("torch", reason="torch is not installed")

    def test_all_kinds_of_images_come_as_they_are(self, torch: Any, tmp_path: Path) -> None:
        images, labels = samples.cifar_like(30)
        expected = packed(TorchLike(images, labels), tmp_path / "arrays")
        whole = torch.from_numpy(images)
        planes = whole.permute(0, 3, 1, 2).contiguous()

        class Image(torch.Tensor):  # type: ignore[misc]
            """As torchvision's are."""

        kinds = {
            "parts": list(whole),
            "gaps": list(torch.stack([whole, whole], 3)[:, :, :, 0]),
            "channels last": [plane.permute(1, 2, 0) for plane in planes],
            "subclass": [it.as_subclass(Image) for it in whole],
        }
        for name, tensors in kinds.items():
            found = packed(TorchLike(tensors, labels), tmp_path / name)
            assert is_same(expected, found), name

    def test_no_image_is_said(self, torch: Any, tmp_path: Path) -> None:
        images, labels = samples.cifar_like(3)
        whole = torch.from_numpy(images)
        meta = torch.empty(3, 8, 8, 3, dtype=torch.uint8, device="meta")
        ours, own = fdconvert.DataError, TypeError
        cases = {
            "floats": (whole.float(), ours, "pixels are uint8"),
            "sparse": (whole[..., 0].to_sparse(), own, "Sparse layout"),
            "channels first": (whole.permute(0, 3, 1, 2), ours, "its channels come first"),
            "without pixels": (whole[:, :0], ours, "it has no pixels"),
            "elsewhere": (meta, own, "meta device"),
        }
        for name, (tensors, error, what) in cases.items():
            with pytest.raises(error, match=what):
                packed(TorchLike(list(tensors), labels), tmp_path / name)
