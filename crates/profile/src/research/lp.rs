//! More than two formats and resources, as a linear program.
//!
//! Let `r_f` be the share of the images stored in format `f`, and `u_fk = a_fk / cap_k` the seconds
//! that resource `k` takes for one image in it. The resources work in parallel, so the seconds per
//! image `z` are those of the busiest one:
//!
//! ```text
//! minimise z   subject to   z >= sum_f r_f u_fk   for every k,
//!                           z >= 0,   r_f >= 0,   sum_f r_f = 1,
//!                           sum_f r_f s_f <= space
//! ```
//!
//! This is Liquid's `max t, t sum_f r_f a_fk <= cap_k` with `z = 1/t`, which keeps it linear when
//! space is limited too. An optimum lies at a vertex: `m` formats in use and `m` of the rows tight.
//! There are few formats and rows, so every vertex is solved for and tried, which cannot cycle and
//! has no tuning. A mixture never needs more formats than there are rows.

use crate::{Cost, Machine, Mixture, model::rate};
use fdconvert_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Largest number of formats of [`best_mixture`]; it tries every subset of them.
pub const MAX_FORMATS: usize = 10;

/// Largest number of resources of [`best_mixture`].
pub const MAX_RESOURCES: usize = 5;

/// A resource that images use, with its capacity per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Name such as "disk", "CPU", "GPU".
    pub name: String,
    /// Units per second.
    pub capacity: f64,
    /// Units that one image needs, one value per format. Negative only if a cache serves more than
    /// a format needs.
    pub per_image: Vec<f64>,
}

/// A bound on the size of the dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// Stored bytes of one image, one value per format.
    pub bytes_per_image: Vec<f64>,
    /// Largest mean of bytes per image.
    pub limit: f64,
}

/// Returns reading and decoding as resources, with the same meaning as in [`Model`](crate::Model):
/// the cache holds `cache_bytes / n_images` of every image.
#[must_use]
pub fn resources(costs: &[Cost], machine: &Machine, n_images: u64) -> Vec<Resource> {
    let cached_per_image = machine.cache_bytes / n_images.max(1) as f64;
    let per_image = |of: &dyn Fn(&Cost) -> f64| costs.iter().map(of).collect();
    vec![
        Resource {
            name: "disk".into(),
            capacity: machine.read_bytes_per_s,
            per_image: per_image(&|cost| cost.bytes_per_image - cached_per_image),
        },
        Resource {
            name: "CPU".into(),
            capacity: machine.effective_cores,
            per_image: per_image(&|cost| cost.cpu_seconds_per_image),
        },
    ]
}

/// Returns the mixture with the highest throughput; among equals, one of the fewest formats.
///
/// # Errors
/// `Usage` when the lists do not match, a number is not finite, there are more formats or resources
/// than [`MAX_FORMATS`] and [`MAX_RESOURCES`], or every format exceeds the space.
pub fn best_mixture(resources: &[Resource], space: Option<&Space>) -> Result<Mixture> {
    let n_formats = check(resources, space)?;
    let seconds: Vec<Vec<f64>> = resources
        .iter()
        .map(|resource| resource.per_image.iter().map(|units| units / resource.capacity).collect())
        .collect();
    // Scaled so that tolerances do not depend on the units.
    let scale = seconds.iter().flatten().fold(0.0_f64, |most, value| most.max(value.abs()));
    let scale = if scale > 0.0 { scale } else { 1.0 };

    let rows = rows(&seconds, space, n_formats, scale);
    let mut best: Option<(f64, Vec<f64>)> = None;
    // Ordered by the number of formats, so that the first of equals has the fewest.
    for n_used in 1..=n_formats.min(rows.len()) {
        for used in subsets(n_formats, n_used) {
            for tight in subsets(rows.len(), n_used) {
                let Some(shares) = vertex(&rows, &used, &tight, n_formats) else { continue };
                let z = busiest(&seconds, &shares) / scale;
                if best.as_ref().is_none_or(|(least, _)| z < least - 1e-12) {
                    best = Some((z, shares));
                }
            }
        }
    }
    let (_, shares) = best
        .ok_or_else(|| Error::usage("space", "every format takes more than there is room for"))?;

    let z = busiest(&seconds, &shares);
    let binding = (0..seconds.len())
        .filter(|&resource| z > 0.0 && dot(&seconds[resource], &shares) >= z * (1.0 - 1e-9))
        .collect();
    Ok(Mixture { shares, images_per_s: rate(z), binding })
}

/// One inequality: `sum_f shares_f r_f + z_factor * z >= 0`.
struct Row {
    shares: Vec<f64>,
    z_factor: f64,
}

fn rows(seconds: &[Vec<f64>], space: Option<&Space>, n_formats: usize, scale: f64) -> Vec<Row> {
    let busy = seconds.iter().map(|of_resource| Row {
        shares: of_resource.iter().map(|seconds| -seconds / scale).collect(),
        z_factor: 1.0,
    });
    let not_negative = Row { shares: vec![0.0; n_formats], z_factor: 1.0 };
    // `sum r_f (1 - s_f / limit) >= 0` is the same bound, because the shares add up to 1.
    let room = space.map(|space| Row {
        shares: space.bytes_per_image.iter().map(|bytes| 1.0 - bytes / space.limit).collect(),
        z_factor: 0.0,
    });
    busy.chain([not_negative]).chain(room).collect()
}

/// Returns the shares at which exactly these formats are used and these rows are tight; `None` if
/// they are not a single point, or violate another row.
fn vertex(rows: &[Row], used: &[usize], tight: &[usize], n_formats: usize) -> Option<Vec<f64>> {
    let n = used.len() + 1;
    let mut system = vec![vec![0.0; n + 1]; n];
    for (equation, &row) in system.iter_mut().zip(tight) {
        for (column, &format) in used.iter().enumerate() {
            equation[column] = rows[row].shares[format];
        }
        equation[n - 1] = rows[row].z_factor;
    }
    let sum = &mut system[n - 1];
    sum[..used.len()].fill(1.0);
    sum[n] = 1.0;

    let solved = gauss(system)?;
    let mut shares = vec![0.0; n_formats];
    for (&format, &share) in used.iter().zip(&solved) {
        if share < -1e-9 {
            return None;
        }
        shares[format] = share.max(0.0);
    }
    let z = solved[n - 1];
    let holds = rows.iter().all(|row| dot(&row.shares, &shares) + row.z_factor * z >= -1e-9);
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= total);
    holds.then_some(shares)
}

/// Solves a square system, its right side as the last column, with the largest pivot.
fn gauss(mut system: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = system.len();
    for column in 0..n {
        let size = |row: usize| system[row][column].abs();
        let pivot = (column..n).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        if size(pivot) < 1e-13 {
            return None;
        }
        system.swap(column, pivot);
        let pivot = system[column].clone();
        for (row, equation) in system.iter_mut().enumerate() {
            if row == column {
                continue;
            }
            let factor = equation[column] / pivot[column];
            for (value, of_pivot) in equation.iter_mut().zip(&pivot) {
                *value -= factor * of_pivot;
            }
        }
    }
    Some((0..n).map(|row| system[row][n] / system[row][row]).collect())
}

/// Yields every choice of `n` out of `0..of`.
fn subsets(of: usize, n: usize) -> impl Iterator<Item = Vec<usize>> {
    (0_u32..1 << of)
        .filter(move |mask| mask.count_ones() as usize == n)
        .map(move |mask| (0..of).filter(|bit| mask >> bit & 1 == 1).collect())
}

/// Returns the seconds per image of the busiest resource, never less than 0.
fn busiest(seconds: &[Vec<f64>], shares: &[f64]) -> f64 {
    seconds.iter().map(|of_resource| dot(of_resource, shares)).fold(0.0, f64::max)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Checks that everything matches, and returns the number of formats.
fn check(resources: &[Resource], space: Option<&Space>) -> Result<usize> {
    let n_formats = resources.first().map_or(0, |resource| resource.per_image.len());
    let wrong = |what: String| Err(Error::usage("profile", what));
    if !(1..=MAX_FORMATS).contains(&n_formats) || resources.len() > MAX_RESOURCES {
        return wrong(format!(
            "{n_formats} formats and {} resources; 1 to {MAX_FORMATS} and {MAX_RESOURCES} work",
            resources.len()
        ));
    }
    for Resource { name, capacity, per_image } in resources {
        let sound = per_image.len() == n_formats && per_image.iter().all(|units| units.is_finite());
        if !sound || !capacity.is_finite() || *capacity <= 0.0 {
            return wrong(format!("{name}: it takes a capacity above 0 and a need per format"));
        }
    }
    if let Some(Space { bytes_per_image, limit }) = space {
        let sound = bytes_per_image.iter().all(|bytes| bytes.is_finite() && *bytes >= 0.0);
        if bytes_per_image.len() != n_formats || !sound || !limit.is_finite() || *limit <= 0.0 {
            return wrong("space: it takes a limit above 0 and bytes per format".into());
        }
    }
    Ok(n_formats)
}
