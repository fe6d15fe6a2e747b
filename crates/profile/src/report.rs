use crate::{
    Bandwidth, Choice, Cost, GAIN, Machine, Measured, Model, SLACK, Solution, Throughput, Verdict,
    model::unlimited, sweep,
};
use serde::{Deserialize, Serialize};

/// All data behind a decision, so that it can be explained a year later: as JSON with `serde`, as a
/// page with [`to_html`](crate::to_html). An infinite throughput is `null` in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this structure; 1.
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// Description of the dataset.
    pub dataset: String,
    /// Description of the target that it is read from.
    pub target: String,
    /// Number of images in the dataset.
    pub n_images: u64,
    /// The form that is small and slow to decode.
    pub encoded: FormatReport,
    /// The form that is large and fast to decode.
    pub raw: FormatReport,
    /// The machine, as used by the model.
    pub machine: Machine,
    /// Measurement of the costs; `None` if they were given.
    pub measured: Option<Measured>,
    /// Measurement of the bandwidth; `None` if it was given.
    pub read: Option<Bandwidth>,
    /// The model at the ratios 0/10 to 10/10 of raw images.
    pub tenths: Vec<Choice>,
    /// The model at every hundredth.
    pub curve: Vec<Choice>,
    /// Solution of the model.
    pub solution: Solution,
    /// The search of the paper, if it was run.
    pub search: Option<PaperSearch>,
    /// Throughput that the loader achieved at some shares.
    pub verified: Vec<Verified>,
    /// Shares over all measured formats, if there are more than two.
    pub formats: Option<MixtureReport>,
    /// Reasons why nothing was verified, or to distrust figures.
    pub warnings: Vec<String>,
    /// The machine and the command line of the measurement; `None` in reports of older versions.
    #[serde(default)]
    pub measured_on: Option<MeasuredOn>,
}

/// Origin of a report, for comparing two of them. Without a date and host name: neither explains a
/// number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredOn {
    /// Operating system and architecture.
    pub system: String,
    /// Model of the processor, if the system reports it.
    pub processor: Option<String>,
    /// Number of its hardware threads.
    pub n_cpus: u64,
    /// File system and device of the target, if the system reports them.
    pub disk: Option<String>,
    /// The command line.
    pub command: String,
}

/// The mixture of more than two formats that is fastest by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureReport {
    /// The formats.
    pub formats: Vec<FormatReport>,
    /// Shares of the formats, and their throughput.
    pub mixture: Mixture,
}

/// The shares of images to store in each format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// Shares from 0 to 1 that add up to 1, one per format.
    pub shares: Vec<f64>,
    /// Throughput in images/s; infinite if no resource is needed.
    #[serde(with = "unlimited")]
    pub images_per_s: f64,
    /// Positions of the resources that limit it.
    pub binding: Vec<usize>,
}

/// Result of the paper's search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaperSearch {
    /// Share of raw images, a multiple of a tenth.
    pub share: f64,
    /// The measurements, in order.
    pub measured: Vec<(f64, Throughput)>,
}

/// A stored form with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormatReport {
    /// Name such as "png".
    pub name: String,
    /// Cost of an image.
    pub cost: Cost,
}

/// Runs of the real loader at one share, for comparing with the prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Share of raw images.
    pub share: f64,
    /// Images/s of every run.
    pub runs: Vec<f64>,
}

impl Verified {
    /// Returns the slowest and the fastest run; `None` without runs.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        let least = self.runs.iter().copied().min_by(f64::total_cmp)?;
        let most = self.runs.iter().copied().max_by(f64::total_cmp)?;
        Some((least, most))
    }

    /// Returns the median of the runs, the upper of the middle two; 0 without runs.
    #[must_use]
    pub fn images_per_s(&self) -> f64 {
        let mut runs = self.runs.clone();
        runs.sort_by(f64::total_cmp);
        runs.get(runs.len() / 2).copied().unwrap_or_default()
    }
}

impl Report {
    /// Creates a report of the model's predictions. The caller adds the origin of the inputs and
    /// the verification.
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
            formats: None,
            warnings: Vec::new(),
            measured_on: None,
        }
    }

    /// Returns the images/s of the loader at a share, if it was tried, limited to what training
    /// takes.
    #[must_use]
    pub fn achieved(&self, share: f64) -> Option<f64> {
        let tried = self.verified.iter().find(|verified| verified.share == share)?;
        let taken = self.machine.consumer_images_per_s.unwrap_or(f64::INFINITY);
        Some(tried.images_per_s().min(taken))
    }

    /// Decides by the loader's results, if it ran: for the smallest of the measured shares within
    /// [`SLACK`] of the best one, or for none unless that is [`GAIN`] times as fast as everything
    /// encoded. Without a run the model's choice stands.
    pub fn decide(&mut self, model: &Model) {
        let shares = self.verified.iter().map(|verified| verified.share);
        let mut shares: Vec<(f64, f64)> =
            shares.filter_map(|share| Some((share, self.achieved(share)?))).collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = shares.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let Some((share, rate)) =
            shares.iter().copied().find(|(_, rate)| *rate > 0.0 && *rate >= best * (1.0 - SLACK))
        else {
            return;
        };
        let encoded = shares.iter().find(|(share, _)| *share == 0.0);
        let gains = encoded.is_none_or(|(_, encoded)| rate >= GAIN * encoded);
        self.solution.verdict = if gains { Verdict::Gain } else { Verdict::NoGain };
        self.solution.chosen = model.choice(if gains { share } else { 0.0 });
    }
}
