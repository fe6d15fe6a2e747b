use crate::{Decoder, Encoder, Notes, Resizer};
use fdconvert_core::Encoded;
use std::time::Instant;

/// Handles and buffers of one thread, reused from image to image.
#[derive(Default)]
pub struct Worker {
    pub(super) decoder: Decoder,
    pub(super) encoder: Encoder,
    pub(super) resizer: Resizer,
    pub(super) spare: Vec<Vec<u8>>,
}

/// Result of a policy for an image.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The image as it is to be stored.
    pub encoded: Encoded,
    /// Notes on what happened to it.
    pub notes: Notes,
    /// Time spent on it.
    pub nanos: Nanos,
}

/// Nanoseconds spent on an image, by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Nanos {
    /// Decoding, also where it is only a check.
    pub decode: u64,
    /// Conversions of pixels: alpha, size, orientation.
    pub resize: u64,
    /// Encoding.
    pub encode: u64,
}

impl Worker {
    /// A worker without handles and buffers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer with leftovers in it, or a new one.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Gives a buffer back. Two are in use at once, one is being given back.
    pub(super) fn give(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < 3 {
            self.spare.push(buffer);
        }
    }
}

/// Runs `work` and adds the time it took to `nanos`.
pub(super) fn timed<T>(nanos: &mut u64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *nanos += u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    result
}
