//! An exchange without a network.
use super::Exchange;
use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// Exchange between ranks that are loaders of one process, each on a thread: loaders that feed a
/// GPU each, and tests.
///
/// ```
/// use fdconvert_loader::{Exchange, ThreadExchange};
///
/// let ranks = ThreadExchange::of_ranks(2);
/// let threads = ranks.into_iter().zip(0..).map(|(exchange, rank)| {
///     let messages = vec![vec![rank, 0], vec![rank, 1]];
///     std::thread::spawn(move || exchange.all_to_all(messages))
/// });
/// let threads: Vec<_> = threads.collect();
/// let received = threads.into_iter().filter_map(|it| it.join().ok()?.ok());
/// assert!(received.eq([vec![[0, 0], [1, 0]], vec![[0, 1], [1, 1]]]));
/// ```
///
/// Once one of them is dropped, calls of the others fail.
#[derive(Debug)]
pub struct ThreadExchange {
    rank: usize,
    meeting: Arc<Meeting>,
}

/// The meeting point of all ranks.
#[derive(Debug, Default)]
struct Meeting {
    calls: Mutex<Calls>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Calls {
    /// Counts calls in which all ranks took part.
    n_done: u64,
    /// Messages from each rank for the next call.
    brought: Vec<Option<Vec<Vec<u8>>>>,
    /// Messages to each rank from the last call.
    due: Vec<Vec<Vec<u8>>>,
    gone: Option<usize>,
}

impl ThreadExchange {
    /// Creates one exchange for each rank.
    #[must_use]
    pub fn of_ranks(n_ranks: u32) -> Vec<Self> {
        let meeting = Arc::new(Meeting::default());
        meeting.lock().brought.resize_with(n_ranks as usize, || None);
        (0..n_ranks as usize).map(|rank| Self { rank, meeting: meeting.clone() }).collect()
    }
}

impl Exchange for ThreadExchange {
    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> io::Result<Vec<Vec<u8>>> {
        let mut calls = self.meeting.lock();
        if messages.len() != calls.brought.len() {
            let what = format!("{} messages for {} ranks", messages.len(), calls.brought.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        if let Some(mine) = calls.brought.get_mut(self.rank) {
            *mine = Some(messages);
        }
        let number = calls.n_done;
        if calls.brought.iter().all(Option::is_some) {
            calls.deal();
            self.meeting.changed.notify_all();
        }
        while calls.n_done == number {
            if let Some(rank) = calls.gone {
                let what = format!("rank {rank} is gone");
                return Err(io::Error::new(io::ErrorKind::BrokenPipe, what));
            }
            calls = self.meeting.changed.wait(calls).unwrap_or_else(PoisonError::into_inner);
        }
        // No rank enters the next call before this rank does.
        Ok(calls.due.get_mut(self.rank).map(std::mem::take).unwrap_or_default())
    }
}

impl Drop for ThreadExchange {
    fn drop(&mut self) {
        self.meeting.lock().gone = Some(self.rank);
        self.meeting.changed.notify_all();
    }
}

impl Meeting {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    /// Delivers every message to its rank.
    fn deal(&mut self) {
        let mut due: Vec<Vec<Vec<u8>>> = self.brought.iter().map(|_| Vec::new()).collect();
        for messages in self.brought.iter_mut().filter_map(Option::take) {
            for (due, message) in due.iter_mut().zip(messages) {
                due.push(message);
            }
        }
        self.due = due;
        self.n_done += 1;
    }
}
