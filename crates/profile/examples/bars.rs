//! Draws a comparison as SVG: `cargo run -p fdconvert-profile --example bars < CHART.json > OUT.svg`.
//!
//! The JSON has `title`, `unit` and `bars`, each with `name`, `value`, `range` (least and most) and
//! `is_ours`. `benches/loaders/peers.py` draws the pictures of the documentation with it.
#![allow(clippy::print_stdout, reason = "an example prints")]

use fdconvert_profile::{MarkedBar, MarkedBars};
use serde::Deserialize;
use std::{error::Error, io::stdin};

#[derive(Deserialize)]
struct Chart {
    title: String,
    unit: String,
    bars: Vec<Bar>,
}

#[derive(Deserialize)]
struct Bar {
    name: String,
    value: f64,
    range: (f64, f64),
    is_ours: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Chart { title, unit, bars } = serde_json::from_reader(stdin())?;
    let bars = bars.into_iter().map(|Bar { name, value, range, is_ours }| MarkedBar {
        name,
        value,
        range,
        is_ours,
        mark: None,
    });
    let chart = MarkedBars { title, unit, mark: String::new(), bars: bars.collect() };
    print!("{}", chart.to_svg_file());
    Ok(())
}
