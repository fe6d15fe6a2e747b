use crate::{
    Block, Error,
    dc::Predictions,
    entropy::{Scan, decode},
    runs::Runs,
    table::Tables,
};
use fdconvert_jpeg::{EntryPoints, Jpeg, unstuff};

/// All coefficients of an image, in the order of the scan and in zigzag order, not multiplied with
/// the quantisation tables: what the first half of [`Decoder::decode`](crate::Decoder::decode)
/// makes, in one piece, for those who compare decoders.
///
/// `K` is the number of places in flight. Without entry points these are restart intervals, and
/// without restarts there is only one.
///
/// # Errors
/// `Damaged`; `OtherEntryPoints`; `Unsupported` for bytes that `jpeg` was not parsed from.
pub fn coefficients<const K: usize>(
    jpeg: &Jpeg,
    bytes: &[u8],
    entry_points: Option<&EntryPoints>,
) -> Result<Vec<Block>, Error> {
    const { assert!(1 <= K && K <= 8, "1 to 8 places may be in flight") };
    let data = unstuff(jpeg, bytes)?;
    let tables = Tables::new(jpeg);
    let scan = Scan::new(jpeg, &data, &tables)?;
    let mut runs = match entry_points {
        Some(entry_points) => Runs::of_entry_points(jpeg, &data, entry_points)?,
        None => Runs::of_restarts(jpeg, &data),
    };
    let mut blocks = vec![[0; 64]; jpeg.n_blocks as usize];
    decode::<K>(&scan, &mut runs, &(0..jpeg.n_blocks), &mut blocks)?;
    Predictions::new(jpeg).add_up(&mut blocks);
    Ok(blocks)
}
