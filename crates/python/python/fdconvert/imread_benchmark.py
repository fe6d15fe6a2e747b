"""A decoder for imread_benchmark, which finds it by this package's entry point.

With both packages installed, ``imread-benchmark list-decoders`` lists ``fdconvert``.
"""

from typing import TYPE_CHECKING, Any

import fdconvert

try:
    import numpy as np
    from imread_benchmark.decoders import BaseDecoder
except ImportError as cause:
    raise ImportError(
        "fdconvert.imread_benchmark needs imread_benchmark and NumPy, which are not installed here; "
        "see https://github.com/ternaus/imread_benchmark"
    ) from cause

if TYPE_CHECKING:
    from numpy.typing import NDArray


class FdconvertDecoder(BaseDecoder):  # type: ignore[misc]  # Its package has no types here.
    """``fdconvert.decode`` with one thread, the caller's."""

    name = "fdconvert"
    package_name = "fdconvert"

    def decode(self, data: bytes) -> "NDArray[Any]":
        """Return the pixels; the array keeps their memory alive through its base."""
        return np.asarray(fdconvert.decode(data, threads=1))
