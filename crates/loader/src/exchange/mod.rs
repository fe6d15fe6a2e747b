//! Samples of moved rows from the ranks that own them, over the collectives of the training.
//!
//! A thread of each rank takes part in rounds, and every round includes all ranks. A round is two
//! calls of [`Exchange::all_to_all`](crate::Exchange::all_to_all):
//!
//! ```text
//! 1. to each rank: where I stand, and which samples I want of it      message.rs
//! 2. to each rank: the samples that it wanted of me
//!
//! a rank stands at (epoch, number of steps of it that it has asked for), and between epochs at
//! (epoch, number of steps of it that it has handed over)
//! it is active while its epoch has steps that it has not asked for
//!
//! the next round of a rank:                                           board.rs
//!     an active rank stands behind it, or, if its loader is closed, any other one
//!                                       ->  at once, and asks for nothing
//!     it has steps to ask for           ->  at once, for the rows of these that moved
//!     it is not active, another one is  ->  at once, and asks for nothing
//!     its loader is closed              ->  says so, and all ranks end the exchange
//!     else                              ->  when there are steps, or after half a second; sooner if the
//!                                           last step of all was asked for just now
//!
//! it asks for four steps at a time, while it is no more than some steps ahead of its batches
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
