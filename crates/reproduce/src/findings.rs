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
    /// The paper's claims, each with its verdict.
    pub claims: Vec<Claim>,
    /// Results, in one or two sentences each.
    pub results: Vec<String>,
    /// Differences from the paper, and their reasons.
    pub differences: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The tables.
    pub tables: Vec<TableOf>,
}

/// A claim of a paper, and its result here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The claim.
    pub paper: String,
    /// The result here, or why there is none.
    pub here: String,
    /// Whether it holds here.
    pub verdict: Verdict,
}

/// Whether a claim of a paper holds here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Reproduced,
    /// It does not hold.
    NotReproduced,
    /// It was not measured.
    NotHere,
    /// Measurements contradict each other.
    Contradicted,
}

impl Verdict {
    /// Returns the verdict in words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
            Self::NotHere => "not here",
            Self::Contradicted => "contradicted",
        }
    }
}

impl Claim {
    /// Creates a claim that holds or does not.
    pub(crate) fn measured(paper: impl Into<String>, here: String, holds: bool) -> Self {
        let verdict = if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
        Self { paper: paper.into(), here, verdict }
    }

    /// Creates a claim that was not measured.
    pub(crate) fn not_here(paper: impl Into<String>, why: impl Into<String>) -> Self {
        Self { paper: paper.into(), here: why.into(), verdict: Verdict::NotHere }
    }
}

/// Rounds of one loader that differ by more than this ratio point to other work on the machine.
const MAX_SPREAD: f64 = 1.5;

/// Describes the bars whose rounds differ so much that their medians mean little.
pub(crate) fn disturbed(figures: &[Figure]) -> Option<String> {
    let bars = figures.iter().filter_map(|figure| match &figure.plot {
        Plot::Bars { bars, .. } => Some(bars),
        Plot::Lines { .. } => None,
    });
    let bars: Vec<&Bar> = bars.flatten().filter(|bar| bar.range.is_some()).collect();
    let is_wide = |bar: &&&Bar| bar.range.is_some_and(|(least, most)| most > MAX_SPREAD * least);
    let wide: Vec<&str> = bars.iter().filter(is_wide).map(|bar| bar.name.as_str()).collect();
    let first = wide.first()?;
    Some(format!(
        "The rounds of {} of {} bars differ by more than half, first those of {first}: something \
         else was running. Repeat it while nothing else runs.",
        wide.len(),
        bars.len()
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_differ_by_more_than_half_are_told() {
        let figure = |ranges: [(f64, f64); 2]| {
            let bar = |range| Bar {
                name: format!("{range:?}"),
                value: Some(1.0),
                range: Some(range),
                is_ours: true,
                paper: None,
            };
            let (unit, mark) = (String::new(), String::new());
            let plot = Plot::Bars { unit, mark, bars: ranges.map(bar).into() };
            [Figure { title: String::new(), caption: String::new(), plot }]
        };
        assert_eq!(disturbed(&figure([(1.0, 1.4), (2.0, 2.0)])), None);
        let said = disturbed(&figure([(1.0, 1.4), (2.0, 3.5)])).unwrap();
        assert!(said.contains("1 of 2 bars") && said.contains("(2.0, 3.5)"), "{said}");
    }
}
