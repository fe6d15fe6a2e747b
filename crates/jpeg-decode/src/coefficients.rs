#[cfg(target_arch = "x86_64")]
use crate::lanes::Lanes;
use crate::{
    Block, Entropy, Error, Instructions,
    dc::Predictions,
    decoder::entropy_of,
    entropy::{self, Scan},
    runs::Runs,
    table::Tables,
    window::Window,
};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::{instructions::Loops, tasks::Interleaved};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use fdconvert_jpeg::Unstuffed;
use fdconvert_jpeg::{EntryPoints, Jpeg, unstuff};

/// Decodes all coefficients of an image, in scan order and zigzag order, not multiplied with the
/// quantisation tables: the result of the first half of
/// [`Decoder::decode`](crate::Decoder::decode), in one piece, for comparing decoders.
///
/// Without entry points the places decoded at once are restart intervals, and without restarts there
/// is only one.
///
/// # Errors
/// `Damaged`; `OtherEntryPoints`; `Unsupported` if `jpeg` was parsed from other bytes.
pub fn coefficients(
    jpeg: &Jpeg,
    bytes: &[u8],
    entry_points: Option<&EntryPoints>,
    entropy: Entropy,
    instructions: Instructions,
) -> Result<Vec<Block>, Error> {
    let data = unstuff(jpeg, bytes)?;
    entropy::check_claims(jpeg, &data)?;
    let runs = || match entry_points {
        Some(it) => Runs::of_entry_points(jpeg, &data, it, 0).map(|(_, runs)| runs),
        None => Ok(Runs::of_restarts(jpeg, &data, 0).1),
    };
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if let Some(loops) = Loops::new(instructions)
        && let Some(blocks) = by_vectors(jpeg, &data, &mut runs()?, entropy, loops)
    {
        return Ok(blocks);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = instructions;
    let tables = Tables::new(jpeg);
    let (scan, mut window) = (Scan::new(jpeg, &data, &tables), Window::default());
    let blocks = 0..jpeg.n_blocks;
    entropy_of(entropy.n_streams())(&scan, &mut runs()?, &blocks, &mut window)?;
    Ok(summed(jpeg, window).0)
}

/// Decodes all blocks by vectors alone. `None` without instructions for them, and for blocks that
/// are damaged.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn by_vectors(
    jpeg: &Jpeg,
    data: &Unstuffed,
    runs: &mut Runs,
    entropy: Entropy,
    loops: Loops,
) -> Option<Vec<Block>> {
    let (blocks, mut window) = (0..jpeg.n_blocks, Window::default());
    #[cfg(target_arch = "x86_64")]
    if let (Entropy::Lanes(n_groups), Some(avx512)) = (entropy, loops.avx512()) {
        let mut lanes = Lanes::new(avx512);
        lanes.prepare(jpeg)?;
        lanes.decode(data, runs, &blocks, n_groups, &mut window)?;
        let (blocks, are_sound) = summed(jpeg, window);
        return are_sound.then_some(blocks);
    }
    let mut streams = Interleaved::new(loops.base()?);
    streams.prepare(jpeg, data, false)?;
    streams.decode(data, runs, &blocks, entropy.n_streams(), &mut window)?;
    let (blocks, are_sound) = summed(jpeg, window);
    are_sound.then_some(blocks)
}

/// Returns the blocks with sums in place of DC differences, and whether they are sound.
fn summed(jpeg: &Jpeg, Window { mut cells, half_of }: Window) -> (Vec<Block>, bool) {
    let are_sound = Predictions::new(jpeg, 0, [0; 3]).add_up(&half_of, &mut cells);
    (half_of.iter().filter_map(|half| cells.half(*half).copied()).collect(), are_sound)
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests;
