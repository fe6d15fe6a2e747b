use fdconvert_core::{Error, Result};

/// Factors for the parameters a to l of every map, which turn a category into one of its instances.
pub type SpaceWeights = [f64; 12];

/// Most steps from 1 in the published tables.
const MAX_STEPS: u32 = 6;

/// The published table of 145 rows has 0.6 for one parameter instead of the intended 1.6, and so
/// two rows of 0.6. The published images use it, so ours do.
const MISPRINT: (usize, usize, f64) = (108, 8, 0.6);

/// Returns MV-FractalDB's table of instances of a category: one parameter at a time multiplied by
/// 0.1, 0.2, ... `reach` less and more than 1, and once (among the factors of the first) by 1 only.
/// A reach of 0.1 to 0.6 gives the published tables of 25, 49, 73, 97, 121 and 145 rows; none, that
/// of one row. The table of 145 rows has the misprint of the published one.
///
/// # Errors
/// `Usage` for another reach.
pub fn space_weights(reach: Option<f64>) -> Result<Vec<SpaceWeights>> {
    let n_steps = n_steps(reach).ok_or_else(|| {
        let what = format!(
            "{} is not one of 0.1, 0.2, 0.3, 0.4, 0.5 and 0.6 (25 to 145 rows), or none (one row)",
            reach.unwrap_or_default()
        );
        Error::usage("weight", what)
    })?;
    let mut rows = Vec::new();
    for parameter in 0..12 {
        for tenths in 10 - n_steps..=10 + n_steps {
            if tenths == 10 && parameter > 0 {
                continue;
            }
            let mut row = [1.0; 12];
            row[parameter] = f64::from(tenths) / 10.0;
            rows.push(row);
        }
    }
    if n_steps == MAX_STEPS
        && let Some(row) = rows.get_mut(MISPRINT.0)
    {
        *row = [1.0; 12];
        row[MISPRINT.1] = MISPRINT.2;
    }
    Ok(rows)
}

/// Returns the number of rows of [`space_weights`]; 1 if there is no such table.
pub(crate) fn n_rows(reach: Option<f64>) -> u32 {
    1 + 24 * n_steps(reach).unwrap_or_default()
}

/// Returns the row that changes nothing.
pub(crate) fn base_row(reach: Option<f64>) -> u32 {
    n_steps(reach).unwrap_or_default()
}

fn n_steps(reach: Option<f64>) -> Option<u32> {
    let Some(reach) = reach else { return Some(0) };
    (1..=MAX_STEPS).find(|steps| f64::from(*steps) / 10.0 == reach)
}
