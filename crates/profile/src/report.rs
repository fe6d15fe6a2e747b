use crate::{
    Bandwidth, Choice, Cost, GAIN, Machine, Measured, Model, SLACK, Solution, Throughput, Verdict,
    model::unlimited, sweep,
};
use serde::{Deserialize, Serialize};

/// Everything that a decision rests on, so that it can be explained a year later. As JSON with
/// `serde`, for people with [`to_html`](crate::to_html). An infinite throughput is `null` in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this structure; 1.
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// The profiled dataset, for people.
    pub dataset: String,
    /// The target that it is read from, for people.
    pub target: String,
    /// Images in the dataset.
    pub n_images: u64,
    /// The form that is small and slow to decode.
    pub encoded: FormatReport,
    /// The form that is large and fast to decode.
    pub raw: FormatReport,
    /// The machine, as it went into the model.
    pub machine: Machine,
    /// Measurement of the costs; `None` when they were given.
    pub measured: Option<Measured>,
    /// Measurement of the bandwidth; `None` when it was given.
    pub read: Option<Bandwidth>,
    /// The model at the ratios 0/10 to 10/10 of raw images.
    pub tenths: Vec<Choice>,
    /// The model at every hundredth.
    pub curve: Vec<Choice>,
    /// Solution of the model.
    pub solution: Solution,
    /// The search of the paper, where it was run.
    pub search: Option<PaperSearch>,
    /// Throughput that the loader achieved at some shares.
    pub verified: Vec<Verified>,
    /// Shares over all formats that were measured, where there are more than two.
    pub formats: Option<MixtureReport>,
    /// Why nothing was verified, or figures are to be taken with care.
    pub warnings: Vec<String>,
    /// The machine and the command line of the measurement; `None` in reports of older versions.
    #[serde(default)]
    pub measured_on: Option<MeasuredOn>,
}

/// Origin of a report, for people who compare two of them. Without a date and the name of a host:
/// neither explains a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredOn {
    /// Operating system and architecture.
    pub system: String,
    /// Model of the processor, where the system tells.
    pub processor: Option<String>,
    /// Threads that it runs at once.
    pub n_cpus: u64,
    /// File system and device of the target, where the system tells.
    pub disk: Option<String>,
    /// The command line.
    pub command: String,
}

/// The mixture of more than two formats that the model finds fastest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureReport {
    /// The formats.
    pub formats: Vec<FormatReport>,
    /// Their shares and what they achieve.
    pub mixture: Mixture,
}

/// Which share of the images to store in which format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// Shares from 0 to 1 that add up to 1, format after format.
    pub shares: Vec<f64>,
    /// Images/s; infinite where no resource is needed.
    #[serde(with = "unlimited")]
    pub images_per_s: f64,
    /// The resources that decide it, as positions in what was given.
    pub binding: Vec<usize>,
}

/// Result of the paper's search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaperSearch {
    /// Share of raw images, a multiple of a tenth.
    pub share: f64,
    /// Measurements on the way, in that order.
    pub measured: Vec<(f64, Throughput)>,
}

/// A stored form, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormatReport {
    /// Name for people: "png".
    pub name: String,
    /// Its cost.
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
    /// The slowest and the fastest run; nothing without any.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        let least = self.runs.iter().copied().min_by(f64::total_cmp)?;
        let most = self.runs.iter().copied().max_by(f64::total_cmp)?;
        Some((least, most))
    }

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
            formats: None,
            warnings: Vec::new(),
            measured_on: None,
        }
    }

    /// Images/s of the loader at a share, where it was tried, as far as training takes them.
    #[must_use]
    pub fn achieved(&self, share: f64) -> Option<f64> {
        let tried = self.verified.iter().find(|verified| verified.share == share)?;
        let taken = self.machine.consumer_images_per_s.unwrap_or(f64::INFINITY);
        Some(tried.images_per_s().min(taken))
    }

    /// Lets what the loader achieved decide, where it ran: the smallest of the measured shares
    /// within [`SLACK`] of the best one, and none at all unless that is [`GAIN`] times as fast as
    /// everything encoded. Without a run the model's choice stands.
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
