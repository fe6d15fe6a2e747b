//! Liquid's ways to the best share (APSys 2023), for comparison with [`Model::solve`].

use crate::{Model, PaperSearch, Throughput};
use fdconvert_core::Result;

/// Returns the share at which reading and decoding take equally long, by Liquid's iteration over
/// the share of cached bytes: for a fixed `h` the crossing has a closed form, from which the next
/// `h` follows. `None` if it has not converged after `iterations`, as happens when the cache holds
/// nearly all of the dataset, and if a denominator is not positive.
///
/// [`Model::solve`] needs no iteration, and is compared with this.
#[must_use]
pub fn fixed_point(model: &Model, iterations: usize) -> Option<f64> {
    let (encoded, raw, machine) = (model.encoded(), model.raw(), model.machine());
    let (bandwidth, cores) = (machine.read_bytes_per_s, machine.effective_cores);
    let mut share = 0.0_f64;
    for _ in 0..iterations {
        let missed = cores * (1.0 - model.cached(share));
        let more_bytes = raw.bytes_per_image - encoded.bytes_per_image;
        let less_cpu = encoded.cpu_seconds_per_image - raw.cpu_seconds_per_image;
        let denominator = missed * more_bytes + bandwidth * less_cpu;
        if denominator <= 0.0 {
            return None;
        }
        let numerator =
            bandwidth * encoded.cpu_seconds_per_image - missed * encoded.bytes_per_image;
        let next = (numerator / denominator).clamp(0.0, 1.0);
        if (next - share).abs() < 1e-12 {
            return Some(next);
        }
        share = next;
    }
    None
}

/// The bisection of Liquid (APSys 2023) over the eleven ratios 10:0 to 0:10, for measured instead
/// of predicted throughputs: four or five measurements instead of eleven. `measure` gets shares of
/// raw images.
///
/// Implemented by meaning: the text of the paper drops the half it should keep if its ratios run
/// from all raw to all encoded. Loading that is slower than decoding means too many bytes, so the
/// search moves towards encoded images. Bisection ends at the first ratio at which loading keeps
/// up, and its neighbour on the other side of the crossing may be the faster one: the better of the
/// two is returned.
///
/// Correct only if more raw images mean slower loading and faster decoding ([`Model::trades`]).
///
/// # Errors
/// As for `measure`.
pub fn paper_search(mut measure: impl FnMut(f64) -> Result<Throughput>) -> Result<PaperSearch> {
    let mut measured: Vec<(f64, Throughput)> = Vec::new();
    let mut at = |encoded_tenths: u8| {
        let share = f64::from(10 - encoded_tenths) / 10.0;
        if let Some((_, known)) = measured.iter().find(|(measured, _)| *measured == share) {
            return Ok((share, *known));
        }
        let throughput = measure(share)?;
        measured.push((share, throughput));
        Ok::<_, fdconvert_core::Error>((share, throughput))
    };

    let (mut from, mut to) = (0, 10);
    while from < to {
        let middle = (from + to) / 2;
        let (_, throughput) = at(middle)?;
        if throughput.loading < throughput.decoding {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    let (mut share, best) = at(from)?;
    if let Some(neighbour) = from.checked_sub(1) {
        let (more_raw, throughput) = at(neighbour)?;
        if throughput.images_per_s() > best.images_per_s() {
            share = more_raw;
        }
    }
    Ok(PaperSearch { share, measured })
}
