//! The codec of each sample: two bits for each, with counts in between.
use crate::mixed::layout::CODECS;

const N_CODES: usize = CODECS.len();
/// Number of samples in a word.
const PER_WORD: u64 = 32;
/// Number of words between two counts: 512 samples.
const WORDS_PER_MARK: usize = 16;
const PER_MARK: u64 = PER_WORD * WORDS_PER_MARK as u64;
/// The lower bit of every sample of a word.
const LOW: u64 = 0x5555_5555_5555_5555;

/// The codes of all samples. Finding the position of a sample, or the sample at a position, reads
/// at most 16 words, the latter after a binary search over the counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Order {
    words: Vec<u64>,
    len: u64,
    counts: [u64; N_CODES],
    /// Number of each code before every 512th sample.
    marks: Vec<[u64; N_CODES]>,
}

impl Order {
    /// Appends a code, which is below 4: see [`CODECS`].
    pub(crate) fn push(&mut self, code: u8) {
        let at = self.len % PER_WORD;
        if self.len.is_multiple_of(PER_MARK) {
            self.marks.push(self.counts);
        }
        if at == 0 {
            self.words.push(0);
        }
        if let (Some(word), Some(count)) =
            (self.words.last_mut(), self.counts.get_mut(usize::from(code)))
        {
            *word |= u64::from(code) << (2 * at);
            *count += 1;
            self.len += 1;
        }
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        other.codes().for_each(|code| self.push(code));
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn counts(&self) -> [u64; N_CODES] {
        self.counts
    }

    pub(crate) fn codes(&self) -> impl Iterator<Item = u8> {
        (0..self.len).filter_map(|index| self.code(index))
    }

    pub(crate) fn code(&self, index: u64) -> Option<u8> {
        if index >= self.len {
            return None;
        }
        let word = self.words.get(usize::try_from(index / PER_WORD).ok()?)?;
        Some((word >> (2 * (index % PER_WORD)) & 3) as u8)
    }

    /// Returns the code of a sample and the number of earlier samples with the same code.
    pub(crate) fn place(&self, index: u64) -> Option<(u8, u64)> {
        let code = self.code(index)?;
        let mark = usize::try_from(index / PER_MARK).ok()?;
        let mut before = *self.marks.get(mark)?.get(usize::from(code))?;
        let (first, last) = (mark * WORDS_PER_MARK, usize::try_from(index / PER_WORD).ok()?);
        for &word in self.words.get(first..last)? {
            before += u64::from(matches(word, code).count_ones());
        }
        let word = matches(*self.words.get(last)?, code);
        let below = (1 << (2 * (index % PER_WORD))) - 1;
        Some((code, before + u64::from((word & below).count_ones())))
    }

    /// Returns the sample of that code with `position` earlier ones of the same code.
    pub(crate) fn select(&self, code: u8, position: u64) -> Option<u64> {
        let column = usize::from(code);
        if position >= *self.counts.get(column)? {
            return None;
        }
        let mark = self.marks.partition_point(|counts| counts[column] <= position) - 1;
        let mut left = position - self.marks.get(mark)?.get(column)?;
        let first = mark * WORDS_PER_MARK;
        for (number, &word) in self.words.iter().enumerate().skip(first) {
            let start = number as u64 * PER_WORD;
            let mut word = matches(word, code) & lanes(self.len - start);
            let count = u64::from(word.count_ones());
            if left >= count {
                left -= count;
                continue;
            }
            for _ in 0..left {
                word &= word - 1;
            }
            return Some(start + u64::from(word.trailing_zeros()) / 2);
        }
        None
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(usize::try_from(self.len.div_ceil(4)).unwrap_or(usize::MAX));
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8], len: u64) -> Result<Self, String> {
        if bytes.len() as u64 != len.div_ceil(4) {
            return Err(format!("{} bytes of order for {len} samples", bytes.len()));
        }
        let mut order = Self { len, ..Self::default() };
        for (number, chunk) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let word = u64::from_le_bytes(word);
            let valid = lanes(len - number as u64 * PER_WORD);
            if word & !(valid | valid << 1) != 0 {
                return Err("the order has bits after its last sample".into());
            }
            if number.is_multiple_of(WORDS_PER_MARK) {
                order.marks.push(order.counts);
            }
            for (code, count) in (0..).zip(&mut order.counts) {
                *count += u64::from((matches(word, code) & valid).count_ones());
            }
            order.words.push(word);
        }
        Ok(order)
    }
}

/// Returns the lower bit of each sample of a word that has this code.
fn matches(word: u64, code: u8) -> u64 {
    let differs = word ^ (LOW * u64::from(code));
    !(differs | differs >> 1) & LOW
}

/// Returns the lower bits of the first `n` samples of a word.
fn lanes(n: u64) -> u64 {
    if n >= PER_WORD { LOW } else { LOW & ((1 << (2 * n)) - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn order(codes: &[u8]) -> Order {
        let mut order = Order::default();
        codes.iter().for_each(|&code| order.push(code));
        order
    }

    fn check(codes: &[u8]) {
        let order = order(codes);
        let mut counts = [0; N_CODES];
        for (index, &code) in (0..).zip(codes) {
            let position = counts[usize::from(code)];
            assert_eq!(order.place(index), Some((code, position)));
            assert_eq!(order.select(code, position), Some(index));
            counts[usize::from(code)] += 1;
        }
        let len = codes.len() as u64;
        assert_eq!(order.counts(), counts);
        assert_eq!((order.place(len), order.place(u64::MAX)), (None, None));
        for (code, count) in (0..).zip(counts) {
            assert_eq!((order.select(code, count), order.select(code, u64::MAX)), (None, None));
        }
        assert_eq!(Order::from_bytes(&order.to_bytes(), len).unwrap(), order);
    }

    proptest! {
        #[test]
        fn places_and_samples_are_inverse(codes in vec(0u8..4, 0..1500)) {
            check(&codes);
        }

        #[test]
        fn two_parts_are_as_one(a in vec(0u8..4, 0..100), b in vec(0u8..4, 0..100)) {
            let mut joined = order(&a);
            joined.extend(&order(&b));
            prop_assert_eq!(joined, order(&[a, b].concat()));
        }

        #[test]
        fn any_bytes_are_an_order_or_refused(bytes in vec(any::<u8>(), 0..40), cut in 0u64..4) {
            let len = (bytes.len() as u64 * 4).saturating_sub(cut);
            if let Ok(order) = Order::from_bytes(&bytes, len) {
                prop_assert_eq!(order.to_bytes(), bytes);
                prop_assert_eq!(order.counts().iter().sum::<u64>(), len);
            }
        }
    }

    #[test]
    fn long_runs_and_borders() {
        for len in [31, 32, 33, 511, 512, 513, 1024, 2000] {
            check(&vec![2; len]);
            let mut codes = vec![0; len];
            codes[len - 1] = 1;
            check(&codes);
        }
    }

    #[test]
    fn stored_form_is_that_of_the_specification() {
        let order = order(&[1, 2, 0, 1, 2]);
        assert_eq!(order.to_bytes(), [0b0100_1001, 0b0000_0010]);
        assert_eq!(Order::from_bytes(&[0b11], 1).map(|order| order.code(0)), Ok(Some(3)));
        assert!(Order::from_bytes(&[0b0100], 1).is_err());
        assert!(Order::from_bytes(&[0, 0], 4).is_err());
    }
}
