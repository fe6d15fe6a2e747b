//! Counts of values in equal ranges, drawn as columns.
use super::{
    marked::short,
    svg::{Anchor, Svg, ticks},
};
use crate::grouped;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 36.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 64.0;
/// Largest number of columns.
const COLUMNS: usize = 32;
/// Number of values below the axis, at the edges of columns.
const LABELS: usize = 8;

/// Columns on one axis, for a [`Page`](crate::Page).
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Title of the picture, for screen readers.
    pub title: String,
    /// Quantity and unit of the horizontal axis.
    pub unit: String,
    /// Start of the first column and end of the last one.
    pub range: (f64, f64),
    /// Number of values in each column; all columns have the same width.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Returns the histogram of sorted values; `None` if there are none. Equal values share one
    /// column.
    #[must_use]
    pub fn of_sorted(title: &str, unit: &str, sorted: &[f64]) -> Option<Self> {
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        if !(first.is_finite() && last.is_finite()) {
            return None;
        }
        let n_columns = if last > first { COLUMNS } else { 1 };
        let mut counts = vec![0; n_columns];
        for value in sorted {
            let share = if last > first { (value - first) / (last - first) } else { 0.0 };
            let column = ((share * n_columns as f64) as usize).min(n_columns - 1);
            if let Some(count) = counts.get_mut(column) {
                *count += 1;
            }
        }
        Some(Self { title: title.to_owned(), unit: unit.to_owned(), range: (first, last), counts })
    }

    /// Returns the picture, for a page that defines the colours.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let mut svg = Svg::new((WIDTH, HEIGHT), &self.title, " class=\"histogram\"");
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64 * 1.04;
        let y = |n: f64| bottom - n / most * (bottom - TOP);
        for n in ticks(most).filter(|n| n.fract() == 0.0) {
            svg.line("grid", (LEFT, y(n)), (right, y(n)));
            svg.text("tick", (LEFT - 8.0, y(n) + 4.0), Anchor::End, &grouped(n as u64));
        }
        let width = (right - LEFT) / self.counts.len().max(1) as f64;
        for (column, n) in self.counts.iter().enumerate() {
            let top = y(*n as f64);
            let left = LEFT + width * column as f64;
            svg.rect("ours", (left + 0.5, top), ((width - 1.0).max(1.0), bottom - top));
        }
        let (first, last) = self.range;
        let n_labels = if last > first { LABELS } else { 0 };
        for label in 0..=n_labels {
            let share = if n_labels == 0 { 0.5 } else { label as f64 / n_labels as f64 };
            let x = LEFT + share * (right - LEFT);
            let value = first + share * (last - first);
            // Narrow screens have room for every other one.
            let class = if label % 2 == 0 { "tick" } else { "tick second" };
            svg.text(class, (x, bottom + 26.0), Anchor::Middle, &short(value));
        }
        svg.text("tick", ((LEFT + right) / 2.0, bottom + 54.0), Anchor::Middle, &self.unit);
        svg.finish()
    }
}
