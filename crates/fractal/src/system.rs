use fdconvert_core::{Error, Result};

/// An affine map of the plane: `x' = a x + b y + e`, `y' = c x + d y + f`, stored `[a, b, c, d, e,
/// f]` as in FractalDB's files.
pub type Map = [f64; 6];

/// An affine map in three dimensions: three rows of a matrix, each followed by the addend of x, y
/// or z, stored `[a, b, c, d, e, f, g, h, i, j, k, l]` as in MV-FractalDB's files.
pub type SpaceMap = [f64; 12];

/// A three-dimensional iterated function system.
pub type SpaceSystem = System<12>;

const MAX_MAPS: usize = 8;

/// An iterated function system: affine maps of `N` parameters each, and their probabilities.
///
/// Values are not restricted: samplers must handle expanding maps, infinities and NaN.
#[derive(Debug, Clone, PartialEq)]
pub struct System<const N: usize = 6> {
    maps: Vec<[f64; N]>,
    probabilities: Vec<f64>,
}

impl<const N: usize> System<N> {
    /// Creates a system of these maps and their probabilities.
    ///
    /// # Errors
    /// `Usage` when there are no maps or too many, or another number of probabilities.
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

    /// Returns the maps.
    #[must_use]
    pub fn maps(&self) -> &[[f64; N]] {
        &self.maps
    }

    /// Returns the probability of each map. They should sum to 1, though those from files may not.
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// Returns the system with every map's parameters multiplied by those of `weights`. The
    /// probabilities stay, as in the original.
    #[must_use]
    pub fn weighted(&self, weights: &[f64; N]) -> Self {
        let weigh = |map: &[f64; N]| std::array::from_fn(|i| map[i] * weights[i]);
        Self {
            maps: self.maps.iter().map(weigh).collect(),
            probabilities: self.probabilities.clone(),
        }
    }

    /// Returns running sums of the probabilities, added in order: map `j` is the first with `random
    /// <= sums[j]`.
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
    /// Largest number of maps: the size of the fast sampler's tables. FractalDB has 2 to 7.
    pub const MAX_MAPS: usize = MAX_MAPS;

    /// Creates a system with probabilities proportional to the area that each map leaves: `|ad -
    /// bc|`, summed in order and divided, as in FractalDB's search.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn by_area(maps: Vec<Map>) -> Result<Self> {
        let areas = maps.iter().map(|[a, b, c, d, ..]| (a * d - b * c).abs()).collect();
        Self::in_proportion(maps, areas)
    }
}

impl SpaceSystem {
    /// Creates a system with probabilities proportional to the volume that each map leaves: the
    /// absolute determinant, summed in order and divided, as in MV-FractalDB's search.
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

/// Factors for the parameters a to f of every map, which turn a category into one of its instances.
pub type Weights = [f64; 6];

/// Weights that change nothing.
pub const NO_WEIGHTS: Weights = [1.0; 6];

/// Number of rows of [`weights`].
pub const N_WEIGHT_ROWS: usize = 25;

/// The row of [`weights`] that changes nothing.
pub const BASE_ROW: usize = 2;

/// Returns FractalDB's table of 25 instances of a category for a step `s`: one parameter at a time
/// multiplied by `1-2s`, `1-s`, `1+s`, `1+2s`, and once (row 2) by nothing.
///
/// Rounded to four decimals, as in the original's files.
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
