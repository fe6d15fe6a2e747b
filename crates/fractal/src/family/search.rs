//! FractalDB's search for categories: random systems, kept if their picture fills enough.
//!
//! A single stream of random numbers, numpy's with the seed, gives for every candidate the number
//! of maps (2 to 7), six parameters for each from -1 to 1, and then 100,000 numbers that choose the
//! maps of its orbit, kept or not. A candidate becomes the next category when the orbit, scaled to
//! 512 x 512 pixels, lights a share of at least `rate` of them. Source: `ifs_search.py` of
//! FractalDB-Pretrained-ResNet-PyTorch (MIT).
//!
//! ```text
//! one thread            state of the stream at candidate i, by skipping i's numbers
//! all cores, in order   draw the orbit's numbers again from that state, orbit, bounds, fill
//! ```
//!
//! Skipping the numbers costs a tenth of using them, so the stream is not a bottleneck, and the
//! order of the results does not depend on threads.

use super::{
    candidate::{Candidate, pass_orbit},
    known,
};
use crate::{Frame, MersenneTwister, System, exact};
use fdconvert_core::{Error, Result};
use rayon::prelude::*;

/// Points of the orbit that decides about a candidate.
const POINTS: usize = 100_000;

/// Side of its picture and the padding around it, in pixels.
const SIZE: usize = 512;
const PAD: usize = 6;
const PIXELS: f64 = (SIZE * SIZE) as f64;

/// Candidates tried in parallel.
const BATCH: usize = 64;

/// Limit of candidates tried for one category: two hundred times what FractalDB's rate takes on
/// average.
const MAX_TRIES: u64 = 10_000;

/// The search and its results so far. It continues where it stopped: 10 categories and then 20 are
/// the same as 20 at once.
pub struct Search {
    seed: u32,
    rate: f64,
    /// State at the first number of the next candidate.
    random: MersenneTwister,
    tried: u64,
    found: Vec<System>,
}

impl Search {
    /// The seed of the published categories.
    pub const PUBLISHED_SEED: u32 = 1;

    /// The rate of the published categories.
    pub const PUBLISHED_RATE: f64 = 0.2;

    /// Creates a search from the first candidate of this seed. `rate` is a share, 0 to 1.
    ///
    /// # Errors
    /// `Usage` when no picture can reach that rate.
    pub fn new(seed: u32, rate: f64) -> Result<Self> {
        // An orbit has fewer points than the picture has pixels.
        let highest = POINTS as f64 / PIXELS;
        if !(0.0..=highest).contains(&rate) {
            let what = format!("{rate} is not from 0 to {highest:.3}, which 100,000 points fill");
            return Err(Error::usage("rate", what));
        }
        let random = MersenneTwister::numpy(seed);
        Ok(Self { seed, rate, random, tried: 0, found: Vec::new() })
    }

    /// Returns the number of candidates tried so far.
    #[must_use]
    pub fn tried(&self) -> u64 {
        self.tried
    }

    /// Returns the categories found so far.
    #[must_use]
    pub fn found(&self) -> &[System] {
        &self.found
    }

    /// Continues until there are `classes` categories. `progress` gets their number now and then,
    /// and stops the search by returning false.
    ///
    /// The positions of the first thousand categories of the published search are known, so that
    /// the candidates between them are skipped.
    ///
    /// # Errors
    /// `Usage` when nothing is found for very long, `Cancelled` when `progress` returns false.
    pub fn run(&mut self, classes: usize, progress: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        if self.seed == Self::PUBLISHED_SEED && self.rate == Self::PUBLISHED_RATE {
            self.pick_known(classes, progress)?;
        }
        self.run_in_full(classes, progress)
    }

    /// As [`run`](Self::run), but tries every candidate.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_in_full(
        &mut self,
        classes: usize,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        let needed = needed(self.rate);
        let frame = Frame::new(SIZE as u32, PAD as u32, POINTS as u32)?;
        let mut last_found = self.tried;
        let mut batch = Vec::new();
        while self.found.len() < classes {
            let looked_at = std::mem::take(&mut batch);
            // The stream advances while candidates are tried; the first round only starts it.
            let (next, fills) = rayon::join(
                || (0..BATCH).map(|_| self.random_candidate()).collect::<Result<Vec<_>>>(),
                || {
                    looked_at
                        .par_iter()
                        .map_init(Canvas::default, |canvas, it| canvas.fills(it, needed, frame))
                        .collect::<Vec<_>>()
                },
            );
            batch = next?;
            for (candidate, fills) in looked_at.into_iter().zip(fills) {
                self.tried += 1;
                if !fills {
                    continue;
                }
                last_found = self.tried;
                self.found.push(candidate.system);
                if self.found.len() == classes {
                    // Unused candidates are returned to the stream, for a later call.
                    self.random = candidate.random;
                    pass_orbit(&mut self.random, POINTS);
                    return Ok(());
                }
            }
            if self.tried - last_found > MAX_TRIES {
                let n = self.found.len();
                let what = format!(
                    "after {n} categories none of {MAX_TRIES} candidates fills {}",
                    self.rate
                );
                return Err(Error::usage("rate", what));
            }
            if !progress(self.found.len()) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }

    /// Takes the categories with known positions.
    fn pick_known(
        &mut self,
        classes: usize,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        // Beyond the known ones, or after a search that stopped elsewhere.
        let known = known::GAPS.get(self.found.len()..).unwrap_or_default();
        for gap in known.iter().take(classes.saturating_sub(self.found.len())) {
            for _ in 0..*gap {
                self.random_candidate()?;
            }
            let candidate = self.random_candidate()?;
            self.tried += u64::from(*gap) + 1;
            self.found.push(candidate.system);
            if !progress(self.found.len()) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }

    fn random_candidate(&mut self) -> Result<Candidate<6>> {
        Candidate::draw(&mut self.random, POINTS, System::by_area)
    }
}

/// Returns the fewest pixels that are a share of at least `rate`, divided as the original does.
fn needed(rate: f64) -> usize {
    (0..=POINTS).find(|&pixels| pixels as f64 / PIXELS >= rate).unwrap_or(POINTS + 1)
}

/// Buffers for trying a candidate, reused for the next.
#[derive(Default)]
struct Canvas {
    random: Vec<f64>,
    choices: Vec<u8>,
    points: Vec<[f64; 2]>,
    lit: Vec<u8>,
}

impl Canvas {
    /// Returns true if the candidate lights at least `needed` pixels.
    fn fills(&mut self, candidate: &Candidate<6>, needed: usize, frame: Frame) -> bool {
        self.random.resize(POINTS, 0.0);
        candidate.random.clone().fill_f64(&mut self.random);
        let (low, high) = self.orbit(&candidate.system);
        let span = [high[0] - low[0], high[1] - low[1]];
        // Infinities, NaN and lines are rare; the original's code handles them.
        let plain = span.iter().all(|span| span.is_finite() && *span > 0.0);
        if !plain || self.points.iter().flatten().any(|value| value.is_nan()) {
            return exact::lit_pixels(&candidate.system, &self.random, frame) >= needed as u64;
        }
        self.lights(low, span, needed)
    }

    fn orbit(&mut self, system: &System) -> ([f64; 2], [f64; 2]) {
        // Branches would be mispredicted half of the time.
        self.choices.clear();
        self.choices.resize(POINTS, 0);
        for sum in system.cumulative() {
            for (choice, random) in self.choices.iter_mut().zip(&self.random) {
                *choice += u8::from(*random > sum);
            }
        }
        // The last map of the table keeps a point in place, for numbers that no sum reaches.
        let mut maps = [[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]; System::MAX_MAPS + 1];
        for (entry, map) in maps.iter_mut().zip(system.maps()) {
            *entry = *map;
        }
        let (mut x, mut y) = (0.0f64, 0.0f64);
        let (mut low, mut high) = ([0.0f64; 2], [0.0f64; 2]);
        self.points.clear();
        self.points.push([x, y]);
        let last = system.maps().len();
        for choice in self.choices.iter().take(POINTS - 1) {
            let choice = usize::from(*choice).min(last).min(System::MAX_MAPS);
            let [a, b, c, d, e, f] = maps[choice];
            (x, y) = ((x * a + y * b) + e, (x * c + y * d) + f);
            low = [low[0].min(x), low[1].min(y)];
            high = [high[0].max(x), high[1].max(y)];
            self.points.push([x, y]);
        }
        (low, high)
    }

    /// Lights the pixels of the orbit until enough are lit, or too few points are left. Returns
    /// whether enough are.
    fn lights(&mut self, low: [f64; 2], span: [f64; 2], needed: usize) -> bool {
        const AT_ONCE: usize = 1000;
        self.lit.clear();
        self.lit.resize(SIZE * SIZE, 0);
        let scale = (SIZE - 2 * PAD) as f64;
        let pixel = |value: f64, axis: usize| {
            ((value - low[axis]) / span[axis] * scale + PAD as f64) as i32 as usize
        };
        let mut n_lit = 0;
        let mut places = [0; AT_ONCE];
        for (at, points) in self.points.chunks(AT_ONCE).enumerate() {
            let left = POINTS - at * AT_ONCE;
            if n_lit >= needed || n_lit + left < needed {
                break;
            }
            for (place, [x, y]) in places.iter_mut().zip(points) {
                *place = (pixel(*y, 1) * SIZE + pixel(*x, 0)) % (SIZE * SIZE);
            }
            for place in places.iter().take(points.len()) {
                if let Some(lit) = self.lit.get_mut(*place) {
                    n_lit += usize::from(*lit == 0);
                    *lit = 1;
                }
            }
        }
        n_lit >= needed
    }
}
