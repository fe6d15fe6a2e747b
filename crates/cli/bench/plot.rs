//! The chart of `fdconvert bench --plot`.
use super::Measured;
use fdconvert_profile::{BarChart, Bars};

/// Draws the measured rate of each dataset with its range, and the limits of loading and decoding.
pub(crate) fn svg(measured: &[Measured]) -> String {
    let bars = measured.iter().map(|one| Bars {
        name: &one.label,
        values: [Some(one.images_per_s), one.loading_per_s, Some(one.decoding_per_s)],
        range: one.range(),
    });
    let chart = BarChart {
        title: "Images per second that the loader delivers",
        groups: "dataset",
        series: ["achieved: median, range", "loading alone", "decoding alone"],
        bars: bars.collect(),
    };
    chart.to_svg()
}
