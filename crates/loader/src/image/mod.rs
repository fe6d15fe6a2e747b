//! Pixels on their way into a batch.
