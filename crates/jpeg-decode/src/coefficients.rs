use crate::{
    Block, Error, Instructions,
    dc::Predictions,
    decoder::entropy_of,
    entropy::{self, Scan},
    runs::Runs,
    table::Tables,
    window::Window,
};
#[cfg(target_arch = "x86_64")]
use crate::{instructions::Loops, tasks::Interleaved};
use fdconvert_jpeg::{EntryPoints, Jpeg, unstuff};

/// Decodes all coefficients of an image, in scan order and zigzag order, not multiplied with the
/// quantisation tables: the result of the first half of
/// [`Decoder::decode`](crate::Decoder::decode), in one piece, for comparing decoders.
///
/// `n_places` is the number of places decoded at once, 1 to 8. Without entry points these are
/// restart intervals, and without restarts there is only one.
///
/// # Errors
/// `Damaged`; `OtherEntryPoints`; `Unsupported` if `jpeg` was parsed from other bytes.
pub fn coefficients(
    jpeg: &Jpeg,
    bytes: &[u8],
    entry_points: Option<&EntryPoints>,
    n_places: usize,
    instructions: Instructions,
) -> Result<Vec<Block>, Error> {
    let data = unstuff(jpeg, bytes)?;
    entropy::check_claims(jpeg, &data)?;
    let runs = || match entry_points {
        Some(it) => Runs::of_entry_points(jpeg, &data, it, 0).map(|(_, runs)| runs),
        None => Ok(Runs::of_restarts(jpeg, &data, 0).1),
    };
    let add_up = |Window { cells, cell_of }: &mut Window| {
        Predictions::new(jpeg, 0, [0; 3]).add_up(cell_of, cells)
    };
    let (blocks, mut window) = (0..jpeg.n_blocks, Window::default());
    #[cfg(target_arch = "x86_64")]
    let decoded = match Loops::new(instructions).and_then(Loops::avx2) {
        None => false,
        Some(avx2) => {
            let (mut interleaved, mut runs) = (Interleaved::new(avx2), runs()?);
            let decoded = interleaved.prepare(jpeg, &data, false).and_then(|()| {
                interleaved.decode(&data, &mut runs, &blocks, n_places, &mut window)
            });
            decoded.is_some() && add_up(&mut window)
        }
    };
    #[cfg(not(target_arch = "x86_64"))]
    let decoded = false;
    if !decoded {
        window.clear();
        let tables = Tables::new(jpeg);
        let scan = Scan::new(jpeg, &data, &tables);
        entropy_of(n_places)(&scan, &mut runs()?, &blocks, &mut window)?;
        add_up(&mut window);
    }
    let Window { cells, cell_of } = &window;
    let in_order = cell_of.iter().filter_map(|cell| cells.get(*cell as usize));
    Ok(in_order.map(|cell| cell.values).collect())
}
