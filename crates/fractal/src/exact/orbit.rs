use crate::system::{Map, System};

/// Rows that the original also removes before the first one with a NaN.
const LEAD: usize = 100;

pub(super) struct Orbit {
    pub(super) xs: Vec<f64>,
    pub(super) ys: Vec<f64>,
}

impl Orbit {
    /// Computes as many points as there are random numbers. The first is (0, 0), so the last number
    /// is unused.
    ///
    /// Once both coordinates are NaN they stay so, and all such rows are removed later. So the
    /// orbit ends a hundred rows after that: as far as negative indices reach.
    pub(super) fn new(system: &System, random: &[f64]) -> Self {
        let (mut xs, mut ys) = (Vec::with_capacity(random.len()), Vec::with_capacity(random.len()));
        let cumulative = system.cumulative();
        let mut point: (f64, f64) = (0.0, 0.0);
        let mut n_lost = 0;
        for &number in random {
            xs.push(point.0);
            ys.push(point.1);
            if point.0.is_nan() && point.1.is_nan() {
                n_lost += 1;
                if n_lost > LEAD {
                    break;
                }
            }
            let chosen = cumulative.iter().position(|&sum| number <= sum);
            if let Some(map) = chosen.and_then(|chosen| system.maps().get(chosen)) {
                point = step(map, point);
            }
        }
        Self { xs, ys }
    }

    /// Removes points with NaN, as the original does: by x, and then by y.
    pub(super) fn without_nan(mut self) -> Self {
        if let Some(keep) = keep(&self.xs) {
            self.retain(&keep);
        }
        if let Some(keep) = keep(&self.ys) {
            self.retain(&keep);
        }
        self
    }

    fn retain(&mut self, keep: &[bool]) {
        for values in [&mut self.xs, &mut self.ys] {
            let mut keep = keep.iter();
            values.retain(|_| keep.next().copied().unwrap_or(true));
        }
    }
}

/// The sums are in the original's order, each rounded: a fused multiplication would change bits.
#[inline]
fn step([a, b, c, d, e, f]: &Map, (x, y): (f64, f64)) -> (f64, f64) {
    ((x * a + y * b) + e, (x * c + y * d) + f)
}

/// Marks the rows to keep; `None` when no value is NaN.
///
/// The hundred rows before the first NaN are removed too. If there are fewer, the original's
/// negative indices count from the end.
fn keep(values: &[f64]) -> Option<Vec<bool>> {
    let first = values.iter().position(|value| value.is_nan())?;
    let mut keep: Vec<bool> = values.iter().map(|value| !value.is_nan()).collect();
    for before in 1..=LEAD {
        let row = first.checked_sub(before).or_else(|| (first + values.len()).checked_sub(before));
        if let Some(keep) = row.and_then(|row| keep.get_mut(row)) {
            *keep = false;
        }
    }
    Some(keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mt::MersenneTwister;

    /// The orbit without an early end.
    fn whole(system: &System, random: &[f64]) -> Orbit {
        let mut orbit = Orbit { xs: vec![0.0], ys: vec![0.0] };
        let mut point = (0.0, 0.0);
        for number in &random[..random.len() - 1] {
            let chosen = system.cumulative().iter().position(|sum| number <= sum);
            if let Some(map) = chosen.map(|chosen| &system.maps()[chosen]) {
                point = step(map, point);
            }
            orbit.xs.push(point.0);
            orbit.ys.push(point.1);
        }
        orbit
    }

    #[test]
    fn an_orbit_that_is_lost_ends_early_and_keeps_its_rows() {
        let mut random = vec![0.0; 2000];
        MersenneTwister::numpy(100).fill_f64(&mut random);
        // Overflow after about 700, 10, 20 and 1100 steps; the last one in y alone at first.
        let maps = [
            [2.0, 0.5, 1.0, -2.5, 0.1, 0.2],
            [1e30, 0.5, 1.0, -1e32, 0.1, 0.2],
            [1e15, 0.5, 1.0, -1e17, 0.1, 0.2],
            [0.0, 0.0, 1e-3, -1.9, 0.1, 0.2],
        ];
        for map in maps {
            let system = System::new(vec![map, [0.5, 0.0, 0.0, 0.5, 1.0, 1.0]], vec![0.9, 0.05]);
            let system = system.unwrap();
            let (short, whole) = (Orbit::new(&system, &random), whole(&system, &random));
            assert!(short.xs.len() < whole.xs.len(), "{map:?}");
            let (short, whole) = (short.without_nan(), whole.without_nan());
            assert_eq!(short.xs, whole.xs, "{map:?}");
            assert_eq!(short.ys, whole.ys, "{map:?}");
        }
    }

    #[test]
    fn a_late_nan_takes_the_hundred_rows_before_it() {
        let mut values = vec![0.0; 300];
        values[250] = f64::NAN;
        values[260] = f64::NAN;
        let keep = keep(&values).unwrap();
        let gone: Vec<usize> = (0..300).filter(|&row| !keep[row]).collect();
        assert_eq!(gone, (150..=250).chain([260]).collect::<Vec<_>>());
    }

    #[test]
    fn an_early_nan_takes_rows_from_the_end() {
        let mut values = vec![0.0; 300];
        values[40] = f64::NAN;
        let keep = keep(&values).unwrap();
        let gone: Vec<usize> = (0..300).filter(|&row| !keep[row]).collect();
        assert_eq!(gone, (0..=40).chain(240..300).collect::<Vec<_>>());
    }

    #[test]
    fn few_rows_do_not_panic() {
        assert_eq!(keep(&[0.0, f64::NAN]), Some(vec![false, false]));
        assert_eq!(keep(&[0.0, 1.0]), None);
    }
}
