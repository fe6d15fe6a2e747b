//! Checks of the repository: its arrows, its words, its files.

mod architecture;
mod documents;
mod tidy;
