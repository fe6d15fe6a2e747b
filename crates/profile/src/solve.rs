use crate::{
    Model, Throughput,
    model::{Line, rate, unlimited},
};
use serde::{Deserialize, Serialize};

/// Share of the best throughput that is given up to store less: 2 %, which measurements cannot
/// distinguish from noise.
pub const SLACK: f64 = 0.02;

/// Least gain of the best mixture over storing everything encoded to be worth it: 3 %.
pub const GAIN: f64 = 1.03;

/// A share of raw images and the model's predictions for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Share of images stored raw, from 0 to 1.
    pub share: f64,
    /// Throughput in images/s.
    pub throughput: Throughput,
    /// Number of bytes of all images.
    pub dataset_bytes: f64,
    /// Share of the bytes that comes from the cache, 0 to 1.
    pub cached: f64,
}

/// Verdict on a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The best mixture is at least [`GAIN`] times as fast as everything encoded.
    Gain,
    /// The gain is smaller: keep everything encoded.
    NoGain,
}

/// Solution of the model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// Everything encoded.
    pub encoded_only: Choice,
    /// Everything raw.
    pub raw_only: Choice,
    /// The highest throughput; `x*` in Liquid (APSys 2023).
    pub optimum: Choice,
    /// The fewest bytes among the shares within [`SLACK`] of the highest throughput: the smallest
    /// share, if raw images are the larger ones.
    pub cheapest: Choice,
    /// The choice to make: [`cheapest`](Self::cheapest), or, without a gain, everything encoded.
    pub chosen: Choice,
    /// Throughput of the optimum over that of everything encoded.
    #[serde(with = "unlimited")]
    pub gain: f64,
    /// Verdict on the gain.
    pub verdict: Verdict,
}

impl Model {
    /// Returns the exact share with the highest throughput, and the one to choose.
    #[must_use]
    pub fn solve(&self) -> Solution {
        let lines = self.lines();
        let [loading, decoding, consumer] = lines;
        let pairs = [(loading, decoding), (loading, consumer), (decoding, consumer)];
        let crossings = pairs.into_iter().filter_map(|(a, b)| crossing(a, b));
        let mut optimum = 0.0;
        for share in crossings.chain([1.0]) {
            if self.better(share, optimum) {
                optimum = share;
            }
        }

        let bound = self.seconds(optimum) / (1.0 - SLACK);
        let (from, to) = within(&lines, bound);
        let raw_is_smaller = self.raw().bytes_per_image < self.encoded().bytes_per_image;
        // Rounding must not push the optimum out of its neighbourhood.
        let cheapest = if raw_is_smaller { to.max(optimum) } else { from.min(optimum) };

        let (before, after) = (self.seconds(0.0), self.seconds(optimum));
        let gain = if before > 0.0 { before * rate(after) } else { 1.0 };
        let verdict = if gain >= GAIN { Verdict::Gain } else { Verdict::NoGain };
        let chosen = if verdict == Verdict::Gain { cheapest } else { 0.0 };
        Solution {
            encoded_only: self.choice(0.0),
            raw_only: self.choice(1.0),
            optimum: self.choice(optimum),
            cheapest: self.choice(cheapest),
            chosen: self.choice(chosen),
            gain,
            verdict,
        }
    }

    /// Returns the model's predictions for a share from 0 to 1.
    #[must_use]
    pub fn choice(&self, share: f64) -> Choice {
        Choice {
            share,
            throughput: self.throughput(share),
            dataset_bytes: self.dataset_bytes(share),
            cached: self.cached(share),
        }
    }

    /// Returns true if raw images are the larger and faster ones, as expected. Otherwise one form
    /// is better in both respects, or the two have exchanged roles.
    #[must_use]
    pub fn trades(&self) -> bool {
        let (encoded, raw) = (self.encoded(), self.raw());
        raw.bytes_per_image > encoded.bytes_per_image
            && raw.cpu_seconds_per_image < encoded.cpu_seconds_per_image
    }

    /// Returns seconds per image, never less than 0.
    fn seconds(&self, share: f64) -> f64 {
        self.lines().iter().fold(0.0, |seconds, line| line.at(share).max(seconds))
    }

    /// Returns true if a share is faster by more than rounding, or as fast and smaller.
    fn better(&self, share: f64, than: f64) -> bool {
        let (new, old) = (self.seconds(share), self.seconds(than));
        let same = (new - old).abs() <= 1e-12 * old;
        if same { self.bytes_per_image(share) < self.bytes_per_image(than) } else { new < old }
    }
}

/// Returns the model at `steps + 1` shares from 0 to 1, for a chart, or as the slow and obvious way
/// to the optimum.
#[must_use]
pub fn sweep(model: &Model, steps: u32) -> Vec<Choice> {
    (0..=steps).map(|step| model.choice(f64::from(step) / f64::from(steps.max(1)))).collect()
}

/// Returns the crossing of two lines strictly between 0 and 1.
fn crossing(a: Line, b: Line) -> Option<f64> {
    let (at_0, at_1) = (b.at_0 - a.at_0, b.at_1 - a.at_1);
    let crosses = (at_0 > 0.0) != (at_1 > 0.0) && at_0 != at_1;
    crosses.then(|| (at_0 / (at_0 - at_1)).clamp(0.0, 1.0))
}

/// Returns the range of shares from 0 to 1 at which no line is above `bound`.
fn within(lines: &[Line], bound: f64) -> (f64, f64) {
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for line in lines {
        let slope = line.at_1 - line.at_0;
        let reached = (bound - line.at_0) / slope;
        if slope < 0.0 {
            from = from.max(reached);
        } else if slope > 0.0 {
            to = to.min(reached);
        }
    }
    (from.min(1.0), to.max(0.0))
}
