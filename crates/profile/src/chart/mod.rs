//! Charts as SVG pictures: the curves of a report, rates as bars, and comparisons with marks.
mod bars;
mod curves;
mod lines;
mod marked;
mod svg;

pub use bars::{BarChart, Bars};
pub(crate) use curves::curves;
pub use lines::{LineChart, Series};
pub use marked::{MarkedBar, MarkedBars};
