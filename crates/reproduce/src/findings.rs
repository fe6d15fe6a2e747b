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
    /// Where and how it ran.
    pub measured_on: MeasuredOn,
    /// Whether it was the quick form.
    pub quick: bool,
    /// Seconds that all of it took.
    pub seconds: f64,
    /// Loaders that took part, with their versions.
    pub others: Vec<(String, String)>,
    /// Loaders that did not, and why.
    pub missing: Vec<Missing>,
    /// What was found, in one or two sentences each.
    pub results: Vec<String>,
    /// What differs from the paper, and why.
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
    /// What was done.
    pub caption: String,
    /// Bars or lines.
    pub plot: Plot,
}

/// What a picture shows.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Plot {
    /// Values beside each other.
    Bars {
        /// What is counted.
        unit: String,
        /// What the marks are.
        mark: String,
        /// The values.
        bars: Vec<Bar>,
    },
    /// Values over a number.
    Lines {
        /// The number.
        x: String,
        /// What is counted.
        y: String,
        /// Whether the numbers double.
        doubles: bool,
        /// The lines.
        lines: Vec<Line>,
        /// What the paper tells.
        marks: Vec<Mark>,
    },
}

/// A value, the median of rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// What it is of.
    pub name: String,
    /// The median; `None` where it was not measured.
    pub value: Option<f64>,
    /// Least and most.
    pub range: Option<(f64, f64)>,
    /// Whether it is fdconvert's.
    pub is_ours: bool,
    /// What the paper tells, in the same unit.
    pub paper: Option<f64>,
}

/// Points from the left to the right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// What it is of.
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
    /// What it is.
    pub name: String,
}

/// Numbers of which no picture is drawn.
#[derive(Debug, Clone, Serialize)]
pub struct TableOf {
    /// What it is.
    pub title: String,
    /// The columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}
