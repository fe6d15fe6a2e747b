//! Charts as SVG pictures: the curves of a report, and rates as bars.
mod bars;
mod curves;
mod svg;

pub use bars::{BarChart, Bars};
pub(crate) use curves::curves;
