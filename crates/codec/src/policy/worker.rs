use crate::{Decoder, Encoder, Notes, Resizer};
use fdconvert_core::Encoded;
use std::time::Instant;

/// Handles and buffers of one thread, reused between images.
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
    /// The image to store.
    pub encoded: Encoded,
    /// Notes on the treatment of the image.
    pub notes: Notes,
    /// Time spent on the image.
    pub nanos: Nanos,
}

/// Nanoseconds spent on an image, by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Nanos {
    /// Decoding, including decoding only as a check.
    pub decode: u64,
    /// Conversions of pixels: alpha, size, orientation.
    pub resize: u64,
    /// Encoding.
    pub encode: u64,
}

impl Worker {
    /// Creates a worker without handles and buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a used buffer with arbitrary content, or a new one.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Returns a buffer. Two are in use at once, and a third is being returned.
    pub(super) fn give(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < 3 {
            self.spare.push(buffer);
        }
    }
}

/// Runs `work` and adds its duration to `nanos`.
pub(super) fn timed<T>(nanos: &mut u64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *nanos += u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    result
}
