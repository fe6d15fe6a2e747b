//! The checkpoint of a loader: 40 bytes with the order of a run and the point where it stopped.
//!
//! ```text
//! offset  bytes
//!      0      1  version, 1
//!      1      1  flags, 0: none is defined
//!      2      2  check: the low 16 bits of XXH3-64 of the bytes 4..40, seed 0
//!      4      4  global batch of the run that stopped, in samples
//!      8      8  fingerprint of the dataset, the strata and the shuffle
//!     16      8  seed
//!     24      8  epoch
//!     32      8  samples of the epoch that the whole world has consumed
//! ```
//!
//! Numbers are little-endian. The rank, the size of the world and the number of threads are absent:
//! the state is the same on every rank, and all of these may change before a run continues.
use fdconvert_core::{Error, Result};
use std::fmt;
use std::str::FromStr;
use xxhash_rust::xxh3::xxh3_64;

/// The version this build writes, and the only one it reads.
const VERSION: u8 = 1;

/// Point at which a run stopped, see [`Steps::resume`](super::Steps::resume).
///
/// Its text form is hexadecimal digits, which `parse` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// Hash of the dataset, the strata and the shuffle.
    pub fingerprint: u64,
    /// Seed of the order.
    pub seed: u64,
    /// Epoch of the run.
    pub epoch: u64,
    /// Number of samples of the epoch that all ranks together have consumed: the positions below
    /// it.
    pub consumed: u64,
    /// Samples per step, over all ranks; with buckets the length of their runs, which an epoch
    /// keeps.
    pub global_batch: u32,
}

impl State {
    /// Size of the binary form.
    pub const BYTES: usize = 40;

    /// Returns the binary form.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (head, body) = bytes.split_at_mut(4);
        let (batch, numbers) = body.split_at_mut(4);
        batch.copy_from_slice(&self.global_batch.to_le_bytes());
        let values = [self.fingerprint, self.seed, self.epoch, self.consumed];
        for (slot, value) in numbers.chunks_exact_mut(8).zip(values) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        let [low, high] = check(body);
        head.copy_from_slice(&[VERSION, 0, low, high]);
        bytes
    }

    /// Parses the binary form.
    ///
    /// # Errors
    /// If it has another length or version, or if a byte of it has changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |what: String| Err(Error::usage("state", what));
        let Some((&[version, flags, low, high], body)) =
            bytes.split_first_chunk().filter(|_| bytes.len() == Self::BYTES)
        else {
            return wrong(format!("{} bytes instead of {}", bytes.len(), Self::BYTES));
        };
        if version != VERSION || flags != 0 {
            return wrong(format!(
                "version {version} with flags {flags}; this build reads version {VERSION} with 0"
            ));
        }
        if [low, high] != check(body) {
            return wrong("damaged: its check does not fit its content".into());
        }
        let mut words = body.chunks_exact(4).map(|word| {
            let little_endian = |value, byte: &u8| value << 8 | u32::from(*byte);
            word.iter().rev().fold(0_u32, little_endian)
        });
        let mut word = || words.next().unwrap_or_default();
        let global_batch = word();
        let mut long = || u64::from(word()) | u64::from(word()) << 32;
        let [fingerprint, seed, epoch, consumed] = [long(), long(), long(), long()];
        Ok(Self { fingerprint, seed, epoch, consumed, global_batch })
    }
}

fn check(body: &[u8]) -> [u8; 2] {
    let [low, high, ..] = xxh3_64(body).to_le_bytes();
    [low, high]
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for State {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
        let Some(digits) = digits.filter(|digits| digits.len() == 2 * Self::BYTES) else {
            let what = format!("not {} hexadecimal digits", 2 * Self::BYTES);
            return Err(Error::usage("state", what));
        };
        // Two digits fit into a byte.
        let byte = |pair: &[u32]| pair.iter().fold(0, |byte, digit| byte << 4 | digit) as u8;
        let bytes: Vec<u8> = digits.chunks_exact(2).map(byte).collect();
        Self::from_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    const STATE: State = State {
        fingerprint: 0x0102_0304_0506_0708,
        seed: u64::MAX,
        epoch: 3,
        consumed: 1 << 40,
        global_batch: 4096,
    };

    #[test]
    fn states_come_back() {
        assert_eq!(State::from_bytes(&STATE.to_bytes()).unwrap(), STATE);
        assert_eq!(STATE.to_string().parse::<State>().unwrap(), STATE);
        assert_eq!(STATE.to_string().to_uppercase().parse::<State>().unwrap(), STATE);
    }

    #[test]
    fn the_written_form_never_changes() {
        let text = "0100a66b001000000807060504030201\
                    ffffffffffffffff03000000000000000000000000010000";
        assert_eq!(STATE.to_string(), text);
    }

    #[test]
    fn every_changed_bit_and_length_is_refused() {
        let bytes = STATE.to_bytes();
        for bit in 0..320 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(State::from_bytes(&changed).is_err(), "{bit}");
        }
        for len in 0..40 {
            assert!(State::from_bytes(&bytes[..len]).is_err());
        }
        assert!(State::from_bytes(&[bytes.as_slice(), &[0]].concat()).is_err());
        for text in ["", "zz", &"z".repeat(80), &"é".repeat(40)] {
            assert!(text.parse::<State>().is_err());
        }
    }
}
