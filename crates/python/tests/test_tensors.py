"""Images as tensors: looked at in C by DLPack's exchange, and converted where that cannot be."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import samples
from samples import CLASSES, TorchLike

import fdconvert

POINTERS = ctypes.POINTER(ctypes.c_int64)


class DLTensor(ctypes.Structure):
    """As DLPack 1 declares it."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", POINTERS),
        ("strides", POINTERS),
        ("byte_offset", ctypes.c_uint64),
    ]


LOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))


class Api(ctypes.Structure):
    """The table of functions, with the header before them."""

    _fields_: ClassVar = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("unused", ctypes.c_void_p * 3),
        ("look", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


NAME = b"dlpack_exchange_api"
capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype = ctypes.py_object
capsule_of.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor:
    """Converts itself, as tensors of torch do, and counts how often it had to."""

    def __init__(self, pixels: Any, changes: dict[str, Any]) -> None:
        self.pixels, self.changes = pixels, changes
        self.sides = np.array([*pixels.shape, *pixels.strides], np.int64)
        self.n_converted = 0

    def __array__(self) -> Any:
        self.n_converted += 1
        return self.pixels


def fill_in(tensor: Tensor, out: Any) -> int:
    out = out.contents
    pixels, ndim = tensor.pixels, tensor.pixels.ndim
    address = tensor.sides.ctypes.data
    out.data, out.byte_offset = pixels.ctypes.data, 0
    out.device_type, out.device_id, out.ndim = 1, 0, ndim
    out.code, out.bits, out.lanes = 1, 8, 1
    out.shape = ctypes.cast(address, POINTERS)
    out.strides = ctypes.cast(address + 8 * ndim, POINTERS)
    for name, value in tensor.changes.items():
        setattr(out, name, value(getattr(out, name)) if callable(value) else value)
    return 0


look = LOOK(fill_in)
ADDRESS = ctypes.cast(look, ctypes.c_void_p).value
fail = LOOK(lambda tensor, out: -1)
FAILS = ctypes.cast(fail, ctypes.c_void_p).value
API = Api(1, 3, None, (ctypes.c_void_p * 3)(), ADDRESS, None)


def kind_with(api: Api, name: bytes = NAME, base: type[Tensor] = Tensor) -> type[Tensor]:
    """A type of tensors with that table."""
    capsule = capsule_of(ctypes.addressof(api), name, None)
    return type("Lent", (base,), {"__dlpack_c_exchange_api__": capsule, "held": (api, name)})


def packed(dataset: TorchLike, out: Path) -> Path:
    fdconvert.pack(
        dataset, out, format="wds", encode="png", schema={"image": "image", "label": CLASSES}
    )
    return out


def is_same(one: Path, other: Path) -> bool:
    found = fdconvert.diff(one, other)
    return bool(found["same"] == 30 and not found["changed"])


def check(
    tmp_path: Path,
    kind: type[Tensor],
    is_converted: bool,
    changed: Callable[[Any], Any] = lambda image: image,
    **changes: Any,
) -> None:
    """Packs images as such tensors, which gives what packing them as arrays does."""
    images, labels = samples.cifar_like(30)
    images = [changed(image) for image in images]
    tmp_path.mkdir(exist_ok=True)
    expected = packed(TorchLike(images, labels), tmp_path / "arrays")
    tensors = [kind(image, changes) for image in images]
    found = packed(TorchLike(tensors, labels), tmp_path / "tensors")
    assert is_same(expected, found)
    assert {tensor.n_converted > 0 for tensor in tensors} == {is_converted}


@pytest.mark.parametrize(
    "changed",
    [
        lambda image: image,
        lambda image: np.ascontiguousarray(image[:, :, 0]),
        lambda image: np.ascontiguousarray(image[:1]),
        lambda image: np.ascontiguousarray(image[:, :, :1]),
    ],
    ids=["RGB", "gray", "row", "one channel"],
)
def test_pixels_are_copied_without_a_call(changed: Callable[[Any], Any], tmp_path: Path) -> None:
    check(tmp_path, kind_with(API), False, changed)


def test_what_the_table_leaves_open_is_understood(tmp_path: Path) -> None:
    rows_without_gaps: dict[str, Any] = {"strides": POINTERS()}
    behind = {"byte_offset": 96, "data": lambda address: address - 96}
    for number, changes in enumerate([rows_without_gaps, behind]):
        check(tmp_path / str(number), kind_with(API), False, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"device_type": 2},
        {"code": 0},
        {"bits": 16},
        {"lanes": 2},
        {"ndim": 0},
        {"ndim": -1},
        {"data": None},
        {"shape": POINTERS()},
    ],
    ids=str,
)
def test_other_tensors_convert_themselves(changes: dict[str, Any], tmp_path: Path) -> None:
    check(tmp_path, kind_with(API), True, **changes)


@pytest.mark.parametrize(
    "changed",
    [
        lambda image: image[:, ::2],
        lambda image: image[::-1],
        lambda image: image.swapaxes(0, 1),
        lambda image: np.ascontiguousarray(np.moveaxis(image, -1, 0)).transpose(1, 2, 0),
    ],
    ids=["gaps", "backwards", "columns", "channels first"],
)
def test_other_orders_convert_themselves(changed: Callable[[Any], Any], tmp_path: Path) -> None:
    check(tmp_path, kind_with(API), True, changed)


def test_tables_of_other_versions(tmp_path: Path) -> None:
    unused = (ctypes.c_void_p * 3)()
    # What stands behind the header of another version may be anything.
    newer = Api(2, 0, ctypes.addressof(API), unused, 1, None)
    newest = Api(3, 0, ctypes.addressof(newer), unused, 1, None)
    for number, api in enumerate([newer, newest]):
        check(tmp_path / f"newer {number}", kind_with(api), False)
    alone = Api(2, 0, None, unused, 1, None)
    older = Api(0, 8, None, unused, 1, None)
    without = Api(1, 0, None, unused, None, None)
    failing = Api(1, 0, None, unused, FAILS, None)
    for number, api in enumerate([alone, older, without, failing]):
        check(tmp_path / f"other {number}", kind_with(api), True)
    check(tmp_path / "name", kind_with(API, b"another name"), True)
    check(tmp_path / "no capsule", type("Lent", (Tensor,), {"__dlpack_c_exchange_api__": 1}), True)


@pytest.mark.parametrize("error", [KeyboardInterrupt, BufferError])
def test_an_exception_while_it_is_looked_at(error: type[BaseException], tmp_path: Path) -> None:
    class Raising(Tensor):
        def __bool__(self) -> bool:
            raise error("it is sparse")

    # A function of the interpreter that is called as a look is, and gives -1 for an exception.
    truth = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p).value
    api = Api(1, 0, None, (ctypes.c_void_p * 3)(), truth, None)
    kind = kind_with(api, base=Raising)
    if error is BufferError:
        # Why it cannot be looked at is its conversion's to say.
        check(tmp_path, kind, True)
        return
    with pytest.raises(error, match="it is sparse"):
        check(tmp_path, kind, True)
    assert not (tmp_path / "tensors").exists()


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
