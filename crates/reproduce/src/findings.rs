//! What an experiment found, as plain data.
use crate::Paper;
use fdconvert_profile::MeasuredOn;
use serde::Serialize;

/// All of an experiment.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    /// Of which paper.
    pub paper: Paper,
    /// Its authors and title.
    pub title: &'static str,
    /// fdconvert and its version.
    pub tool: String,
    /// Machine and command line of the run.
    pub measured_on: MeasuredOn,
    /// True if it was the quick form.
    pub quick: bool,
    /// Seconds that all of it took.
    pub seconds: f64,
    /// Loaders that took part, with their versions.
    pub others: Vec<(String, String)>,
    /// Loaders that did not, and why.
    pub missing: Vec<Missing>,
    /// Results, in one or two sentences each.
    pub results: Vec<String>,
    /// Differences from the paper, and their reasons.
    pub differences: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The tables.
    pub tables: Vec<TableOf>,
}

/// A loader that could not take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A picture with its words.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Which figure of the paper it redraws, or what it shows.
    pub title: String,
    /// Description of the measurement.
    pub caption: String,
    /// Bars or lines.
    pub plot: Plot,
}

/// Contents of a picture.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Plot {
    /// Values beside each other.
    Bars {
        /// Quantity that is counted.
        unit: String,
        /// Meaning of the marks.
        mark: String,
        /// The values.
        bars: Vec<Bar>,
    },
    /// Values over a number.
    Lines {
        /// The number.
        x: String,
        /// Quantity that is counted.
        y: String,
        /// True if the numbers double with equal steps.
        doubles: bool,
        /// The lines.
        lines: Vec<Line>,
        /// Points that the paper tells of.
        marks: Vec<Mark>,
    },
}

/// A value, the median of rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// The median; `None` where it was not measured.
    pub value: Option<f64>,
    /// Least and most.
    pub range: Option<(f64, f64)>,
    /// True if it is fdconvert's.
    pub is_ours: bool,
    /// The paper's value, in the same unit.
    pub paper: Option<f64>,
}

/// Points from the left to the right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

/// A place that the paper tells of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// The number.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Its name.
    pub name: String,
}

/// Numbers of which no picture is drawn.
#[derive(Debug, Clone, Serialize)]
pub struct TableOf {
    /// Its title.
    pub title: String,
    /// The columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}
