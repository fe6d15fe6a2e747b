//! Charts as SVG pictures: the curves of a report, rates as bars, comparisons with marks, and
//! histograms.
mod bars;
mod curves;
mod histogram;
mod lines;
mod marked;
mod svg;

pub use bars::{BarChart, Bars};
pub(crate) use curves::curves;
pub use histogram::Histogram;
pub use lines::{LineChart, Series};
pub use marked::{MarkedBar, MarkedBars};
