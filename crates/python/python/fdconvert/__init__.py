"""Packs image datasets for fast training.

``pack``, ``convert``, ``plan``, ``merge``, ``unpack``, ``inspect``, ``verify``, ``diff``, ``stats``, ``sheet``,
``find_duplicates`` and ``profile`` run the commands of the same names in this process.
``pack_plan`` carries out a plan, as ``pack --plan`` does. ``append``, ``remove`` and ``update`` edit a
dataset of shards, and ``log`` lists its versions.

``Dataset`` opens a packed dataset or a folder of images as a sequence, which can be narrowed to some
of its samples; ``concat`` and ``mix`` join several. ``Loader`` makes batches of it for training;
``sampling=`` chooses and orders the samples of an epoch, ``Buckets`` and ``Patches`` are sizes of its
images, and ``Ranks``, ``Skip``, ``Cache``,
``Storage``, ``Prefetch``, ``Objects``, ``Cuda`` and ``Output`` are groups of its other options.
``Writer`` packs samples one at a time, and ``pack`` accepts whole sequences of samples as well as
paths. ``decode`` turns the bytes of image files into arrays.

A path may also be a store's URL as a string (``s3://``, ``gs://``, ``az://``, ``https://``,
``hf://``). ``set_store_options`` sets options of stores that the environment does not.

``transforms`` has torchvision's transforms, for single images.

``fdconvert.torch`` has the loader with the arguments of torch's ``DataLoader``, and torchvision's
transforms; only it, and ``TorchIterable`` in it, need torch.
``fdconvert.ray`` packs on a Ray cluster; only it needs Ray. ``fdconvert.timm`` takes the arguments of
timm's ``create_loader``, and ``fdconvert.ultralytics`` has the loader in Ultralytics' trainer; only
the latter needs Ultralytics. ``python -m fdconvert`` is the command line.
"""

from typing import TYPE_CHECKING

from fdconvert._batch import Batch, BatchObjects, Geometry
from fdconvert._commands import (
    convert,
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
from fdconvert._edits import append, log, remove, update
from fdconvert._errors import DataError, DeviceError, Error, UsageError
from fdconvert._exchange import Exchange
from fdconvert._fdconvert import (
    Array,
    Dataset,
    DeviceArray,
    __version__,
    concat,
    decode,
    mix,
    ragged,
    set_store_options,
)
from fdconvert._groups import (
    Cache,
    Cuda,
    Objects,
    Output,
    Prefetch,
    Quarantine,
    Ranks,
    Skip,
    Storage,
    Substitute,
)
from fdconvert._loader import Loader
from fdconvert._sampling import (
    Balanced,
    Order,
    Repeated,
    Sampling,
    Sequential,
    Shuffle,
    Weighted,
    Windowed,
)
from fdconvert._sizes import Buckets, Patches
from fdconvert._writer import Writer

if TYPE_CHECKING:
    from fdconvert.torch import TorchIterable as TorchIterable

__all__ = [
    "Array",
    "Balanced",
    "Batch",
    "BatchObjects",
    "Buckets",
    "Cache",
    "Cuda",
    "DataError",
    "Dataset",
    "DeviceArray",
    "DeviceError",
    "Error",
    "Exchange",
    "Geometry",
    "Loader",
    "Objects",
    "Order",
    "Output",
    "Patches",
    "Prefetch",
    "Quarantine",
    "Ranks",
    "Repeated",
    "Sampling",
    "Sequential",
    "Shuffle",
    "Skip",
    "Storage",
    "Substitute",
    "UsageError",
    "Weighted",
    "Windowed",
    "Writer",
    "__version__",
    "append",
    "concat",
    "convert",
    "decode",
    "diff",
    "find_duplicates",
    "inspect",
    "log",
    "merge",
    "mix",
    "pack",
    "pack_plan",
    "plan",
    "profile",
    "ragged",
    "remove",
    "set_store_options",
    "sheet",
    "stats",
    "unpack",
    "update",
    "verify",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "TorchIterable"])


def __getattr__(name: str) -> object:
    # Importing torch takes seconds, and it may be missing: import it on first use.
    if name == "TorchIterable":
        from fdconvert.torch import TorchIterable

        globals()[name] = TorchIterable
        return TorchIterable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
