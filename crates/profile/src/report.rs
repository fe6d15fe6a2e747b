use crate::{Bandwidth, Choice, Cost, Machine, Measured, Model, PaperSearch, Solution, sweep};
use serde::{Deserialize, Serialize};

/// Everything that a decision rests on, so that it can be explained a year later. As JSON with
/// `serde`, for people with [`to_html`](crate::to_html). An infinite throughput is `null` in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this structure; 1.
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// What was profiled, for people.
    pub dataset: String,
    /// Where it is read from, for people.
    pub target: String,
    /// Images in the dataset.
    pub n_images: u64,
    /// The form that is small and slow to decode.
    pub encoded: FormatReport,
    /// The form that is large and fast to decode.
    pub raw: FormatReport,
    /// The machine, as it went into the model.
    pub machine: Machine,
    /// How the costs were measured; `None` when they were given.
    pub measured: Option<Measured>,
    /// How the bandwidth was measured; `None` when it was given.
    pub read: Option<Bandwidth>,
    /// The model at the ratios 0/10 to 10/10 of raw images.
    pub tenths: Vec<Choice>,
    /// The model at every hundredth.
    pub curve: Vec<Choice>,
    /// What the model says.
    pub solution: Solution,
    /// The search of the paper, where it was run.
    pub search: Option<PaperSearch>,
    /// What the loader achieved at some shares.
    pub verified: Vec<Verified>,
}

/// A stored form, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormatReport {
    /// Name for people: "png".
    pub name: String,
    /// What it costs.
    pub cost: Cost,
}

/// Runs of the real loader at one share, to compare with the prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Share of raw images.
    pub share: f64,
    /// Images/s of every run.
    pub runs: Vec<f64>,
}

impl Verified {
    /// The median of the runs, the upper of the middle two; 0 without any.
    #[must_use]
    pub fn images_per_s(&self) -> f64 {
        let mut runs = self.runs.clone();
        runs.sort_by(f64::total_cmp);
        runs.get(runs.len() / 2).copied().unwrap_or_default()
    }
}

impl Report {
    /// A report of what the model predicts. Where the inputs come from and what was verified is for
    /// the caller to add.
    #[must_use]
    pub fn new(dataset: &str, target: &str, names: [&str; 2], model: &Model) -> Self {
        let [encoded, raw] = names;
        Self {
            version: 1,
            tool: concat!("fdconvert ", env!("CARGO_PKG_VERSION")).into(),
            dataset: dataset.into(),
            target: target.into(),
            n_images: model.n_images(),
            encoded: FormatReport { name: encoded.into(), cost: model.encoded() },
            raw: FormatReport { name: raw.into(), cost: model.raw() },
            machine: model.machine(),
            measured: None,
            read: None,
            tenths: sweep(model, 10),
            curve: sweep(model, 100),
            solution: model.solve(),
            search: None,
            verified: Vec::new(),
        }
    }
}
