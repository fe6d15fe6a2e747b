//! Transports of messages between the ranks of a training.
mod threads;

pub use threads::ThreadExchange;

use std::{fmt, io};

/// Exchange of samples between the ranks of a training: a collective call of the library that the
/// training has already.
///
/// Each loader calls it on a thread of its own, so it needs a group of its own: messages of others
/// must not come between. The first call comes soon after the loader was made.
pub trait Exchange: fmt::Debug + Send + Sync {
    /// Sends a message to each rank, this one included, and returns one of each rank, in the order
    /// of the ranks. All ranks call it equally often; it returns when all messages for this rank
    /// are here. Messages are never empty.
    ///
    /// How long it waits for the others is its own matter: most collectives have a limit. While all
    /// ranks live it is not much longer than half a second, or than reading the samples that a rank
    /// is asked for.
    ///
    /// # Errors
    /// When a rank is gone or does not answer in time. It is not called again after that: moved
    /// rows are then read from storage.
    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> io::Result<Vec<Vec<u8>>>;
}
