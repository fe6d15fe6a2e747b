"""A shuffled order that is computed position by position and needs no memory."""

_MASK = (1 << 64) - 1


def _mixed(value: int) -> int:
    """Return 64 bits that each depend on all bits of ``value``: the last steps of SplitMix64."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


class Shuffled:
    """A permutation of the numbers below ``length``, by a Feistel network of four rounds.

    The network permutes the numbers below the next power of four. A result beyond ``length`` goes
    through it again, at most four times on average.
    """

    def __init__(self, length: int, seed: int) -> None:
        self._length = length
        self._half = max(1, ((length - 1).bit_length() + 1) // 2) if length > 1 else 1
        self._keys = [_mixed((seed * 4 + number + 1) * 0x9E3779B97F4A7C15 & _MASK) for number in range(4)]

    def at(self, place: int) -> int:
        """Return the number at ``place``, which must be below the length."""
        if self._length < 2:
            return place
        mask = (1 << self._half) - 1
        while True:
            left, right = place >> self._half, place & mask
            for key in self._keys:
                left, right = right, left ^ (_mixed(right ^ key) & mask)
            place = left << self._half | right
            if place < self._length:
                return place
