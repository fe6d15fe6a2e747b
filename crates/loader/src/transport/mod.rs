//! Transports of messages between the ranks of a training.
mod threads;

pub use threads::ThreadExchange;

use std::{fmt, io};

/// Exchange of samples between the ranks of a training: a collective call of the library that the
/// training already uses.
///
/// Each loader calls it on a separate thread, so that it needs a separate group: no other messages
/// may come between. The first call comes soon after the loader is created.
pub trait Exchange: fmt::Debug + Send + Sync {
    /// Sends a message to each rank, including this one, and returns the messages from all ranks,
    /// in rank order. All ranks call it equally often; it returns when all messages for this rank
    /// have arrived. Messages are never empty.
    ///
    /// The implementation decides how long it waits for the others: most collectives have a limit.
    /// While all ranks live, the wait is not much longer than half a second, or than reading the
    /// samples requested from a rank.
    ///
    /// # Errors
    /// If a rank is gone or does not answer in time. The loader does not call it again after that:
    /// moved rows are then read from storage.
    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> io::Result<Vec<Vec<u8>>>;
}
