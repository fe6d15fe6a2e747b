//! Results of an experiment, as plain data.
use crate::Paper;
use fdconvert_profile::MeasuredOn;
use serde::Serialize;

/// All results of an experiment.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    /// The reproduced paper.
    pub paper: Paper,
    /// Authors and title of the paper.
    pub title: &'static str,
    /// Name and version of fdconvert.
    pub tool: String,
    /// Machine and command line of the run.
    pub measured_on: MeasuredOn,
    /// True for the quick form.
    pub quick: bool,
    /// Duration of the run.
    pub seconds: f64,
    /// Other loaders that took part, with their versions.
    pub others: Vec<(String, String)>,
    /// Other loaders that did not take part, with the reason.
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
    /// Name of the loader.
    pub name: String,
    /// Reason for which it did not take part.
    pub why: String,
}

/// A picture with its texts.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// The redrawn figure of the paper, or the subject.
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
    /// Values as bars.
    Bars {
        /// Unit of the values.
        unit: String,
        /// Meaning of the marks.
        mark: String,
        /// The bars.
        bars: Vec<Bar>,
    },
    /// Values over a number.
    Lines {
        /// Label of the numbers.
        x: String,
        /// Label of the values.
        y: String,
        /// True for a logarithmic axis with base 2.
        doubles: bool,
        /// The lines.
        lines: Vec<Line>,
        /// Points published in the paper.
        marks: Vec<Mark>,
    },
}

/// A value, usually the median of rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Name of the bar.
    pub name: String,
    /// The median; `None` if it was not measured.
    pub value: Option<f64>,
    /// Least and greatest value.
    pub range: Option<(f64, f64)>,
    /// True for fdconvert.
    pub is_ours: bool,
    /// The paper's value, in the same unit.
    pub paper: Option<f64>,
}

/// Points from left to right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Name of the line.
    pub name: String,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

/// A point published in the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Name of the mark.
    pub name: String,
}

/// A table of numbers without a picture.
#[derive(Debug, Clone, Serialize)]
pub struct TableOf {
    /// Title of the table.
    pub title: String,
    /// Titles of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}
