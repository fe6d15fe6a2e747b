//! A list of images as one value of bytes, for formats whose columns hold one: their number, where
//! each begins and ends, and the images as they are, one after another.
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 8 | `n`, the number of images |
//! | 8 | 8 * (n + 1) | offsets from the first byte of the value: image `i` is the bytes from offset `i` up to offset `i + 1` |
//! | 16 + 8 * n | | the images, without gaps: the first offset is this one, the last the length of the value |
//!
//! Integers are unsigned, of 64 bits, little endian. Codec and size of an image are in its own
//! header.
use crate::{Encoded, bytes::u64_at, probe};
use bytes::Bytes;

/// Bytes of an integer.
const WORD: usize = 8;

/// Returns the bytes of a list.
#[must_use]
pub fn to_bytes(images: &[Encoded]) -> Vec<u8> {
    let head = WORD * (images.len() + 2);
    let len = images.iter().map(|image| image.bytes.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(head + len);
    bytes.extend_from_slice(&(images.len() as u64).to_le_bytes());
    let mut end = head as u64;
    bytes.extend_from_slice(&end.to_le_bytes());
    for image in images {
        end += image.bytes.len() as u64;
        bytes.extend_from_slice(&end.to_le_bytes());
    }
    images.iter().for_each(|image| bytes.extend_from_slice(&image.bytes));
    bytes
}

/// Takes a list apart; the images are slices of `bytes`.
///
/// # Errors
/// What is wrong with the list, or with which image, as the end of a sentence such as "its list".
pub fn from_bytes(bytes: &Bytes) -> Result<Vec<Encoded>, String> {
    let cut_short = || format!("is cut short: it has {} bytes", bytes.len());
    let word = |number: usize| u64_at(bytes, number.checked_mul(WORD)?);
    let n_images = word(0).and_then(|n| usize::try_from(n).ok()).ok_or_else(cut_short)?;
    let head = n_images.checked_add(2).and_then(|words| words.checked_mul(WORD));
    let head = head.filter(|&head| head <= bytes.len()).ok_or_else(cut_short)?;
    if word(1) != Some(head as u64) || word(n_images + 1) != Some(bytes.len() as u64) {
        return Err("has offsets that do not begin and end where its images do".to_owned());
    }
    let image = |number: usize| {
        let end = |number| usize::try_from(word(number)?).ok();
        let (start, end) = end(number + 1)
            .zip(end(number + 2))
            .filter(|(start, end)| head <= *start && start <= end && *end <= bytes.len())
            .ok_or_else(|| format!("has offsets of image {number} that are out of order"))?;
        read(bytes.slice(start..end), number)
    };
    (0..n_images).map(image).collect()
}

/// Returns the image of a list whose file these bytes are, as its header says.
///
/// # Errors
/// What is wrong with it, with its position.
pub fn read(bytes: Bytes, number: usize) -> Result<Encoded, String> {
    let header = probe::probe(&bytes).map_err(|what| format!("has an image {number}: {what}"))?;
    Ok(Encoded::new(header.codec, header.width, header.height, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Codec;

    const GIF: &[u8] =
        b"GIF89a\x02\x00\x03\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x02\x00\x03\x00\x00\x02\x00\x3b";

    #[test]
    fn a_list_comes_back_and_its_bytes_never_change() {
        let image = Encoded::new(Codec::Gif, 2, 3, Bytes::from_static(GIF));
        for n_images in [0, 1, 3] {
            let images = vec![image.clone(); n_images];
            let bytes = Bytes::from(to_bytes(&images));
            assert_eq!(bytes.len(), 16 + n_images * (8 + GIF.len()));
            assert_eq!(from_bytes(&bytes).unwrap(), images);
        }
        let two = to_bytes(&[image.clone(), image]);
        let len = GIF.len() as u64;
        let head = [2, 32, 32 + len, 32 + 2 * len].map(u64::to_le_bytes);
        assert_eq!(two, [head.as_flattened(), GIF, GIF].concat());
    }

    #[test]
    fn damage_is_an_error_wherever_it_is() {
        let image = Encoded::new(Codec::Gif, 2, 3, Bytes::from_static(GIF));
        let whole = to_bytes(&[image.clone(), image]);
        for len in 0..whole.len() {
            assert!(from_bytes(&whole[..len].to_vec().into()).is_err(), "{len}");
        }
        for at in 0..32 {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                assert!(from_bytes(&damaged.into()).is_err(), "bit {bit} of byte {at}");
            }
        }
    }
}
