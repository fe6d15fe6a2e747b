//! Reads integers from untrusted bytes: `None` if they end too early.
//!
//! Little endian, like all of fdconvert's layouts, unless the name says otherwise.

/// Returns `N` bytes from `at` on.
#[must_use]
#[inline]
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Returns the `u16` at `at`.
#[must_use]
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

/// Returns the `u32` at `at`.
#[must_use]
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

/// Returns the `u64` at `at`.
#[must_use]
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}

/// Returns the `i32` at `at`.
#[must_use]
#[inline]
pub fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    array_at(bytes, at).map(i32::from_le_bytes)
}

/// Returns the `u16` at `at`, big endian.
#[must_use]
#[inline]
pub fn u16_be_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_be_bytes)
}

/// Returns the `u32` at `at`, big endian.
#[must_use]
#[inline]
pub fn u32_be_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_or_missing() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 0xff, 9];
        assert_eq!(u16_at(&bytes, 1), Some(0x0302));
        assert_eq!(u16_be_at(&bytes, 1), Some(0x0203));
        assert_eq!(u32_at(&bytes, 5), Some(0x09ff_0706));
        assert_eq!(u32_be_at(&bytes, 5), Some(0x0607_ff09));
        assert_eq!(i32_at(&bytes, 4), Some(-0x00f8_f9fb));
        assert_eq!(u64_at(&bytes, 0), Some(0xff07_0605_0403_0201));
        assert_eq!((u64_at(&bytes, 2), u16_at(&bytes, 8)), (None, None));
        assert_eq!((u32_at(&bytes, 10), u64_at(&bytes, usize::MAX)), (None, None));
        assert_eq!(array_at(&bytes, 9), Some([]));
    }
}
