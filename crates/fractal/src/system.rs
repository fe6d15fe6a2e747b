use fdconvert_core::{Error, Result};

/// One affine map of the plane: `x' = a x + b y + e`, `y' = c x + d y + f`, stored `[a, b, c, d, e, f]`
/// as FractalDB's files have it.
pub type Map = [f64; 6];

/// One affine map of space: a matrix of three rows and what is added to x, y and z, stored
/// `[a, b, c, d, e, f, g, h, i, j, k, l]` as MV-FractalDB's files have it.
pub type SpaceMap = [f64; 12];

/// An iterated function system of space.
pub type SpaceSystem = System<12>;

/// The most maps of a system.
const MAX_MAPS: usize = 8;

/// An iterated function system: affine maps of `N` parameters each, and how often each is taken.
///
/// The values are whatever the category says, expanding maps, infinities and NaN included: every
/// sampler has to cope.
#[derive(Debug, Clone, PartialEq)]
pub struct System<const N: usize = 6> {
    maps: Vec<[f64; N]>,
    probabilities: Vec<f64>,
}

impl<const N: usize> System<N> {
    /// A system of these maps, each with its probability.
    ///
    /// # Errors
    /// `Usage` when there are none or too many, or when the probabilities are not as many.
    pub fn new(maps: Vec<[f64; N]>, probabilities: Vec<f64>) -> Result<Self> {
        if maps.is_empty() || maps.len() > MAX_MAPS {
            let what = format!("a system has 1 to {MAX_MAPS} maps, not {}", maps.len());
            return Err(Error::usage("category", what));
        }
        if maps.len() != probabilities.len() {
            let what = format!("{} maps with {} probabilities", maps.len(), probabilities.len());
            return Err(Error::usage("category", what));
        }
        Ok(Self { maps, probabilities })
    }

    /// The maps.
    #[must_use]
    pub fn maps(&self) -> &[[f64; N]] {
        &self.maps
    }

    /// Returns how often each map is taken; meant to sum to 1, though files may say otherwise.
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// The same with every map's parameters multiplied by those of `weights`. The probabilities
    /// stay, as in the original.
    #[must_use]
    pub fn weighted(&self, weights: &[f64; N]) -> Self {
        let weigh = |map: &[f64; N]| std::array::from_fn(|i| map[i] * weights[i]);
        Self {
            maps: self.maps.iter().map(weigh).collect(),
            probabilities: self.probabilities.clone(),
        }
    }

    /// Running sums of the probabilities, added in order: map `j` is the first with
    /// `random <= sums[j]`.
    #[must_use]
    pub fn cumulative(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let add = |probability: &f64| {
            sum += probability;
            sum
        };
        self.probabilities.iter().map(add).collect()
    }

    fn in_proportion(maps: Vec<[f64; N]>, sizes: Vec<f64>) -> Result<Self> {
        let sum = sizes.iter().fold(0.0, |sum, size| sum + size);
        Self::new(maps, sizes.iter().map(|size| size / sum).collect())
    }
}

impl System {
    /// The most maps: what the fast sampler's tables hold. FractalDB has 2 to 7.
    pub const MAX_MAPS: usize = MAX_MAPS;

    /// A system whose maps are taken in proportion to how much area they leave: `|ad - bc|`, summed
    /// in order and divided, as FractalDB's search does.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn by_area(maps: Vec<Map>) -> Result<Self> {
        let areas = maps.iter().map(|[a, b, c, d, ..]| (a * d - b * c).abs()).collect();
        Self::in_proportion(maps, areas)
    }
}

impl SpaceSystem {
    /// A system whose maps are taken in proportion to how much volume they leave: the size of the
    /// determinant, summed in order and divided, as MV-FractalDB's search does.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn by_volume(maps: Vec<SpaceMap>) -> Result<Self> {
        let volume = |[a, b, c, d, e, f, g, h, i, ..]: &SpaceMap| {
            (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)).abs()
        };
        let volumes = maps.iter().map(volume).collect();
        Self::in_proportion(maps, volumes)
    }
}

/// Factors for the parameters a to f of every map; they turn one category into an instance of it.
pub type Weights = [f64; 6];

/// The weights that change nothing.
pub const NO_WEIGHTS: Weights = [1.0; 6];

/// Rows of [`weights`].
pub const N_WEIGHT_ROWS: usize = 25;

/// The row of [`weights`] that changes nothing.
pub const BASE_ROW: usize = 2;

/// FractalDB's table of 25 instances of a category for a step `s`: one parameter at a time times
/// `1-2s`, `1-s`, `1+s`, `1+2s`, and once (row 2) nothing at all.
///
/// Computed as the original's files have it: rounded to four decimals.
#[must_use]
pub fn weights(step: f64) -> [Weights; N_WEIGHT_ROWS] {
    let mut rows = [NO_WEIGHTS; N_WEIGHT_ROWS];
    let mut others = (0..N_WEIGHT_ROWS).filter(|&row| row != BASE_ROW);
    for parameter in 0..6 {
        for steps in [-2.0, -1.0, 1.0, 2.0] {
            let factor = ((1.0 + steps * step) * 1e4).round() / 1e4;
            if let Some(row) = others.next().and_then(|row| rows.get_mut(row)) {
                row[parameter] = factor;
            }
        }
    }
    rows
}
