"""The decoder as a file of imread_benchmark itself: `imread_benchmark/decoders/fdconvert_decoder.py`."""

from __future__ import annotations

import numpy as np

from imread_benchmark.decoders import BaseDecoder


class FdconvertDecoder(BaseDecoder):
    """fdconvert's own JPEG decoder, in the thread of the caller."""

    name = "fdconvert"
    package_name = "fdconvert"
    # Only the wheels for Linux have been run.
    skip_single = (("Darwin", "*"), ("Windows", "*"))
    skip_dataloader = (("Darwin", "*"), ("Windows", "*"))

    def decode(self, data: bytes) -> np.ndarray:
        import fdconvert

        # The array owns the decoded memory by its base; nothing of `data` is kept.
        return np.asarray(fdconvert.decode(data, threads=1))
