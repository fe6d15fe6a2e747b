use crate::formula::layout::{self, Contents, MAX_FILE_BYTES, Probe};
use fdconvert_core::{Error, Provenance, Result, ShardSummary, Source};
use fdconvert_fractal::{Formula, FractalSource};
use fdconvert_storage::write_partial;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

/// Number of images with stored hashes.
const PROBES: u64 = 8;

/// Writes the dataset of `formula` to `out`. The bytes depend only on formula and provenance.
///
/// # Errors
/// `Usage` when the formula is invalid or too large, or when `out` exists (unless `overwrite`);
/// `Io` for failures of the system. A failure leaves no file.
pub fn write(
    out: &Path,
    formula: &Formula,
    provenance: &Provenance,
    overwrite: bool,
) -> Result<ShardSummary> {
    let source = FractalSource::new(formula.clone(), provenance.source.clone())?;
    let probes = probes(&source)?;
    let contents = Contents { formula: formula.clone(), provenance: provenance.clone(), probes };
    let bytes = layout::to_bytes(&contents)?;
    let n_bytes = bytes.len() as u64;
    if n_bytes > MAX_FILE_BYTES {
        let what = format!("its categories take {n_bytes} bytes, more than a file holds");
        return Err(Error::usage("classes", what));
    }
    write_partial(out, &bytes)?.commit(out, overwrite)?;
    let path = out.to_owned();
    Ok(ShardSummary { path, samples: source.len(), bytes: n_bytes, skipped: Vec::new() })
}

/// Returns hashes of images from all over the dataset, including the first and the last.
fn probes(source: &FractalSource) -> Result<Vec<Probe>> {
    let last = source.len().saturating_sub(1);
    let mut indices: Vec<u64> = (0..PROBES)
        .map(|probe| (u128::from(last) * u128::from(probe) / u128::from(PROBES - 1)) as u64)
        .collect();
    indices.dedup();
    indices.into_iter().map(|index| Ok(Probe { index, hash: hash(source, index)? })).collect()
}

/// Returns the hash of the pixels of an image.
pub(crate) fn hash(source: &FractalSource, index: u64) -> Result<u128> {
    let mut rgb = Vec::new();
    source.rgb_into(index, &mut rgb)?;
    Ok(xxh3_128(&rgb))
}
