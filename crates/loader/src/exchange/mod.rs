//! Samples of moved rows from the ranks that own them, over the collectives of the training.
//!
//! A thread of each rank takes part in rounds, and every round includes all ranks. A round is two
//! calls of [`Exchange::all_to_all`](crate::Exchange::all_to_all):
//!
//! ```text
//! 1. to each rank: my progress, and the samples that I request        message.rs
//! 2. to each rank: the samples that it requested
//!
//! a rank stands at (epoch, number of requested steps), and between epochs at
//! (epoch, number of delivered steps)
//! it is active while its epoch has steps without requests
//!
//! the next round of a rank:                                           board.rs
//!     an active rank stands behind it, or, if its loader is closed, any other one
//!                                       ->  at once, without requests
//!     it has steps to request           ->  at once, for the moved rows of these
//!     it is not active, another one is  ->  at once, without requests
//!     its loader is closed              ->  announces it, and all ranks end the exchange
//!     else                              ->  when there are steps, or after half a second;
//!                                           sooner just after the request for the last step
//!
//! it requests four steps at a time, while it is at most a few steps ahead of its batches
//! ```
//!
//! Ranks at the same step request the same steps in the same round, which is the usual case. But no
//! round is tied to its steps. A rank answers any request, because it owns the same samples in
//! every epoch. So ranks at different steps wait only for the slowest, and ranks that leave an
//! epoch at the same batch are in step again in the next one. A rank that is ahead waits inside a
//! call, which costs nothing; ranks without requests join at least twice a second, so that a call
//! ends soon while all ranks live.
//!
//! After any failure, a row is read from storage instead.
mod board;
mod message;
mod rounds;

pub(crate) use board::Board;
pub(crate) use rounds::{ExchangeOptions, start};
