//! Samples of moved rows from the ranks that own them, over the collectives of the training.
//!
//! A thread of each rank takes part in rounds, and all ranks in each of them. A round is two calls of
//! [`Exchange::all_to_all`](crate::Exchange::all_to_all):
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
//! Ranks that stand alike ask for the same steps in the same round, which is the usual case. No round
//! belongs to its steps, though. A rank answers whatever it is asked, because the
//! samples that it owns are the same in every epoch, so ranks that stand at different steps wait
//! for the slowest only, and those that leave an epoch at the same batch are in step again with the
//! next one. A rank that is ahead waits inside of a call, which costs nothing; those that have nothing
//! to ask come by at least twice a second, so that a call ends soon where all ranks live.
//!
//! Whatever fails, a row is read from storage instead.
mod board;
mod message;
mod rounds;

pub(crate) use board::Board;
pub(crate) use rounds::{ExchangeOptions, start};
