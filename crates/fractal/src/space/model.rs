use crate::{MersenneTwister, SpaceSystem, random::keyed};

/// Separates these streams from others of the same seed.
const POINTS: u64 = 0x3344;

/// The points of an instance, centred and in single precision, as the original stores them in a
/// file.
pub(crate) struct Model {
    pub(crate) points: Vec<[f32; 3]>,
}

impl Model {
    /// Creates the instance of a weighted system. `None` if its orbit overflows or stays in one
    /// place: the original then writes no model, and its class has fewer images.
    ///
    /// `n_points` is the original's number of points; the model has one fewer, as the start is not
    /// drawn.
    pub(crate) fn new(system: &SpaceSystem, n_points: u32, numpy_seed: u32) -> Option<Self> {
        let mut random = vec![0.0; n_points as usize];
        MersenneTwister::numpy(numpy_seed).fill_f64(&mut random);
        let mut axes = orbit(system, &random)?;
        if !in_place(&mut axes, n_points) {
            return None;
        }
        let [x, y, z] = &axes;
        let points = x.iter().zip(y).zip(z).map(|((x, y), z)| [*x as f32, *y as f32, *z as f32]);
        Some(Self { points: points.collect() })
    }
}

/// Returns the seed of numpy's generator that chooses the maps of an instance.
pub(crate) fn points_seed(seed: u64, class: u32, row: u32) -> u32 {
    keyed(seed, POINTS, class, row).next_u64() as u32
}

/// Computes the orbit after the origin: a point for each number but the last, by axis. `None` if it
/// overflows, because all later points would be infinite or NaN.
pub(crate) fn orbit(system: &SpaceSystem, random: &[f64]) -> Option<[Vec<f64>; 3]> {
    let (sums, maps) = (system.cumulative(), system.maps());
    let n_points = random.len().saturating_sub(1);
    let mut axes = [(); 3].map(|()| Vec::with_capacity(n_points));
    let [mut x, mut y, mut z] = [0.0f64; 3];
    for random in random.iter().take(n_points) {
        // If no sum is large enough, the point is repeated.
        if let Some((_, map)) = sums.iter().zip(maps).find(|(sum, _)| *random <= **sum) {
            let [a, b, c, d, e, f, g, h, i, j, k, l] = map;
            [x, y, z] =
                [x * a + y * b + z * c + j, x * d + y * e + z * f + k, x * g + y * h + z * i + l];
        }
        if ![x, y, z].iter().all(|value| value.is_finite()) {
            return None;
        }
        for (axis, value) in axes.iter_mut().zip([x, y, z]) {
            axis.push(value);
        }
    }
    Some(axes)
}

/// Scales points so that the least of all their coordinates becomes -1 and the largest 1, and moves
/// their centre to the origin. Returns false if that is impossible: for an orbit of a single place,
/// and for one that spans more than a double holds.
///
/// As in the original, the centre divides by one more than the number of points.
pub(crate) fn in_place(axes: &mut [Vec<f64>; 3], n_points: u32) -> bool {
    let all = || axes.iter().flatten();
    let low = all().fold(f64::INFINITY, |low, value| low.min(*value));
    let high = all().fold(f64::NEG_INFINITY, |high, value| high.max(*value));
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return false;
    }
    for axis in axes {
        let mut sum = 0.0;
        for value in axis.iter_mut() {
            *value = (*value - low) / span * 2.0 - 1.0;
            sum += *value;
        }
        let centre = sum / f64::from(n_points);
        axis.iter_mut().for_each(|value| *value -= centre);
    }
    true
}
