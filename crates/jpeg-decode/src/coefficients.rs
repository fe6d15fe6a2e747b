use crate::{
    Block, Entropy, Error, Instructions,
    dc::Predictions,
    decoder::entropy_of,
    entropy::{self, Scan},
    runs::Runs,
    table::Tables,
    window::Window,
};
#[cfg(target_arch = "x86_64")]
use crate::{instructions::Loops, lanes::Lanes, tasks::Interleaved};
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
    let add_up = |Window { cells, half_of }: &mut Window| {
        Predictions::new(jpeg, 0, [0; 3]).add_up(half_of, cells)
    };
    let (blocks, mut window) = (0..jpeg.n_blocks, Window::default());
    #[cfg(target_arch = "x86_64")]
    let decoded = match Loops::new(instructions).and_then(Loops::avx2) {
        None => false,
        Some(avx2) => {
            let (mut streams, mut runs) = (Interleaved::new(avx2), runs()?);
            let lanes = Loops::new(instructions).and_then(Loops::avx512).map(Lanes::new);
            let decoded = match (entropy, lanes) {
                (Entropy::Lanes(n_groups), Some(mut lanes)) => lanes
                    .prepare(jpeg)
                    .and_then(|()| lanes.decode(&data, &mut runs, &blocks, n_groups, &mut window)),
                _ => streams.prepare(jpeg, &data, false).and_then(|()| {
                    let n_places = entropy.n_streams();
                    streams.decode(&data, &mut runs, &blocks, n_places, &mut window)
                }),
            };
            decoded.is_some() && add_up(&mut window)
        }
    };
    #[cfg(not(target_arch = "x86_64"))]
    let decoded = false;
    if !decoded {
        window.clear();
        let tables = Tables::new(jpeg);
        let scan = Scan::new(jpeg, &data, &tables);
        entropy_of(entropy.n_streams())(&scan, &mut runs()?, &blocks, &mut window)?;
        add_up(&mut window);
    }
    let Window { cells, half_of } = &window;
    Ok(half_of.iter().filter_map(|half| cells.half(*half).copied()).collect())
}
