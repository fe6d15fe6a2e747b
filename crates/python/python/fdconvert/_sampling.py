"""How a loader chooses and orders the samples of an epoch."""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

Engine: TypeAlias = tuple[Any, ...]
"""A sampling for the engine: its name, and its values."""


class Sampling(ABC):
    """Base of the samplings of ``Loader(sampling=...)``, such as ``Shuffle()``.

    Each gives the same global order for any number of ranks and threads, and resumes at any step with
    another number of ranks or another batch size.
    """

    @abstractmethod
    def _engine(self) -> Engine:
        """Describe the sampling to the engine."""

    def __repr__(self) -> str:
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return f"fdconvert.{type(self).__name__}({', '.join(map(_shown, values))})"


@dataclass(frozen=True, repr=False)
class Shuffle(Sampling):
    """Each sample once, in a random order: ``Loader(path, sampling=Shuffle())``, the default."""

    def _engine(self) -> Engine:
        return ("shuffle",)


@dataclass(frozen=True, repr=False)
class Sequential(Sampling):
    """The order of the dataset, for evaluation: ``Loader(path, sampling=Sequential())``."""

    def _engine(self) -> Engine:
        return ("sequential",)


@dataclass(frozen=True, repr=False)
class Windowed(Sampling):
    """Each sample once, for storage that reads in large pieces: ``Windowed(1000, 100_000)``.

    Chunks of ``chunk`` samples come in a random order, and samples are displaced by less than
    ``window``.
    """

    chunk: int
    window: int

    def _engine(self) -> Engine:
        return ("windowed", self.chunk, self.window)


@dataclass(frozen=True, repr=False)
class Balanced(Sampling):
    """Each class equally often: ``Balanced("label")``.

    ``label`` is a field of integers, ``per_class`` the number of samples of each class in an epoch, by
    default the mean number of samples of a class, rounded up. No sample of a class comes again before
    the class is through, over all epochs. Samples of class -1, which is none, are left out.
    """

    label: str
    per_class: int | None = None

    def _engine(self) -> Engine:
        return ("balanced", self.label, self.per_class)


@dataclass(frozen=True, repr=False, eq=False)
class Weighted(Sampling):
    """Each sample as often as its weight says: ``Weighted([0.5, 1, 2], n=1000)``.

    ``weights`` has a number from 0 on for each sample: an array of NumPy or torch, an ``array.array``
    or a list. ``n`` is the number of draws in an epoch, by default that of the samples. With
    ``replacement`` draws are independent. Without, they are those of torch's
    ``WeightedRandomSampler``, at most one of each sample, and by default all that have a positive
    weight; their list is made when an epoch begins and takes 4 bytes for each draw.
    """

    weights: Any
    n: int | None = None
    replacement: bool = True

    def _engine(self) -> Engine:
        return ("weighted", _floats(self.weights), self.n, bool(self.replacement))


@dataclass(frozen=True, repr=False)
class Repeated(Sampling):
    """Each sample ``k`` times in the same global batch: ``Repeated(3)``.

    Every time it has another crop, flip and augmentation: repeated augmentation. The batch size of all
    ranks together must be a multiple of ``k``.
    """

    k: int

    def _engine(self) -> Engine:
        return ("repeated", self.k)


@dataclass(frozen=True, repr=False, eq=False)
class Order(Sampling):
    """An order of your own: ``Order([4, 0, 2])``, or ``Order(lambda epoch: hardest(epoch))``.

    ``samples`` has the numbers of the samples of an epoch, in their order: an array of NumPy or torch,
    an ``array.array``, a list or a range; or a function of the epoch that returns one. Samples may
    repeat, and then have other crops, flips and augmentations each time.

    The function is called when the first batch of an epoch is taken, or ``len(loader)`` before that,
    and again where a checkpoint is loaded: it must then return the same list. It may not use the
    loader.
    """

    samples: Any

    def _engine(self) -> Engine:
        if callable(self.samples):
            return ("order_by_epoch", _ByEpoch(self.samples))
        return ("order", _integers(self.samples))


class _ByEpoch:
    def __init__(self, samples: Callable[[int], Any]) -> None:
        self._samples = samples

    def __call__(self, epoch: int) -> Any:
        return _integers(self._samples(epoch))


def engine_of(sampling: Any) -> Engine:
    """Return a sampling for the engine."""
    if not isinstance(sampling, Sampling):
        names = ", ".join(f"{kind.__name__}" for kind in Sampling.__subclasses__())
        cure = " (with parentheses)" if isinstance(sampling, type) else ""
        what = f"{_shown(sampling)} is not one of fdconvert's {names}{cure}"
        raise TypeError(f"sampling: {what}")
    return sampling._engine()


def _floats(values: Any) -> Any:
    return _numbers(values, "d", "fd", "numbers")


def _integers(values: Any) -> Any:
    return _numbers(values, "q", "q", "integers")


def _numbers(values: Any, typecode: str, known: str, what: str) -> Any:
    """Return numbers as an object with the buffer protocol, copied if they are of another type."""
    if hasattr(values, "__array__"):
        values = _of_numpy(values, typecode, known, what)
    try:
        view = memoryview(values)
    except TypeError:
        pass
    else:
        # The types of C have other names on other systems.
        format = view.format if view.format != "l" or view.itemsize != 8 else "q"
        if view.ndim == 1 and format in known:
            return values
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, (Sequence, array)):
        raise TypeError(f"sampling: {_shown(values)} is not a list of {what}")
    try:
        return array(typecode, values)
    except OverflowError:
        raise TypeError(f"sampling: a number of {_shown(values)} is too large") from None
    except TypeError as error:
        raise TypeError(f"sampling: {_shown(values)} is not a list of {what}: {error}") from None


def _of_numpy(values: Any, typecode: str, known: str, what: str) -> Any:
    """Return an array of NumPy or torch in a type that is known."""
    import numpy

    values = numpy.asarray(values)
    kinds = "iu" if typecode == "q" else "iuf"
    if values.ndim != 1 or values.dtype.kind not in kinds:
        shape = f"{values.dtype} of shape {values.shape}"
        raise TypeError(f"sampling: an array of {shape} is not a list of {what}")
    if not any(values.dtype == numpy.dtype(kind) for kind in known):
        values = values.astype(typecode)
    return values


def _shown(value: Any) -> str:
    """Return a value as in a program, unless it is long."""
    if isinstance(value, (str, int, float, type, type(None))):
        return repr(value)
    try:
        return f"<{len(value)} values>"
    except TypeError:
        return repr(value)
