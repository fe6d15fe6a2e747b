//! Batches for training: order, prefetch, decoding into the batch, exact resume.
#![forbid(unsafe_code)]

mod image;
mod order;
