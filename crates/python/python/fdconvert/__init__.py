"""Packs image datasets for fast training.

``pack``, ``plan``, ``merge``, ``unpack``, ``inspect``, ``verify``, ``diff``, ``stats``, ``sheet``,
``find_duplicates`` and ``profile`` are the commands of the same names, run in this process, and
``pack_plan`` is ``pack`` with a plan.
``Dataset`` opens what was packed, or a folder of images, as a sequence, and ``Loader`` makes batches
of it for training. ``decode`` makes arrays of images that are in no dataset. ``pack`` takes samples
that the program has, too, and ``Writer`` those that come one after another.
A path may be a URL of a store (``s3://``, ``gs://``, ``az://``, ``https://``, ``hf://``), as text;
``set_store_options`` says more about stores than the environment does.
``TorchIterable`` is the loader for torch's ``DataLoader``; it alone needs torch.
``fdconvert.ray`` packs on a Ray cluster; it alone needs Ray. ``python -m fdconvert`` is the command
itself.
"""

from typing import TYPE_CHECKING

from fdconvert._batch import Batch, Geometry, Objects
from fdconvert._commands import (
    diff,
    find_duplicates,
    inspect,
    merge,
    pack,
    pack_plan,
    plan,
    profile,
    sheet,
    stats,
    unpack,
    verify,
)
from fdconvert._errors import DataError, DeviceError, Error, UsageError
from fdconvert._exchange import Exchange
from fdconvert._fdconvert import (
    Array,
    Dataset,
    DeviceArray,
    __version__,
    decode,
    set_store_options,
)
from fdconvert._loader import Loader
from fdconvert._writer import Writer

if TYPE_CHECKING:
    from fdconvert._torch import TorchIterable as TorchIterable

__all__ = [
    "Array",
    "Batch",
    "DataError",
    "Dataset",
    "DeviceArray",
    "DeviceError",
    "Error",
    "Exchange",
    "Geometry",
    "Loader",
    "Objects",
    "UsageError",
    "Writer",
    "__version__",
    "decode",
    "diff",
    "find_duplicates",
    "inspect",
    "merge",
    "pack",
    "pack_plan",
    "plan",
    "profile",
    "set_store_options",
    "sheet",
    "stats",
    "unpack",
    "verify",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "TorchIterable"])


def __getattr__(name: str) -> object:
    # Torch takes seconds to import and may not be there, so only who asks for this imports it.
    if name == "TorchIterable":
        from fdconvert._torch import TorchIterable

        globals()[name] = TorchIterable
        return TorchIterable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
