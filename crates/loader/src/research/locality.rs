//! Rows to the ranks that have them already.
//!
//! Training sums the gradients of all rows of a global batch, so which rank computes which row is
//! free as long as the global batch stays the same set of samples. When ranks keep parts of the
//! dataset in memory, each row had best go to the rank that holds it (Yang and Cong, "Accelerating
//! Data Loading in Deep Neural Network Training", 2019).
//!
//! ```text
//! each rank takes rows of its own, in order, as many as its share of the batch allows
//! the rest is the pool: first rows that no one holds, then what ranks hold beyond their share
//! ranks below their share take from the pool, in the order of the ranks
//! ```
//!
//! Rows that no one holds come from storage wherever they go, so they even out the ranks for free.
//! What a rank holds beyond its share has to move in any case: no assignment moves less. If the
//! owners are random and a rank has `b` of the `b p` rows, the number it holds varies by
//! `sqrt(b (1 - 1/p))`, and the expected part of the batch that moves is
//! `sqrt(1 - 1/p) / sqrt(2 pi b)`: 3.5 percent at 128 rows per rank, where dealing rows out
//! without a look would move nearly all.
//!
//! Two cautions. Which rank gets a sample now depends on the world and the owners; the random
//! numbers of augmentations must depend on the sample, not on the rank. And each rank sees mostly
//! its own samples again: fine for summed gradients, not for batch normalization within a rank.
use crate::order::share;
use fdconvert_core::{Error, Result};
use std::ops::Range;

/// Which rank takes which rows of a global batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// For each rank, its rows as indices into the ids of the batch, ascending.
    pub rows: Vec<Vec<usize>>,
    /// The rows that another rank holds than the one that takes them, by the taker, then by row.
    pub transfers: Vec<Transfer>,
}

/// A row that has to move between ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Index into the ids of the batch.
    pub row: usize,
    /// The rank that holds the sample.
    pub from: u32,
    /// The rank that takes the row.
    pub to: u32,
}

/// Assigns the rows of a global batch to ranks, each as many rows as [`Steps`](crate::Steps) gives
/// it, with as few transfers as possible.
///
/// `owner` says which rank holds a sample. `None`, like a rank that is not in the world, means that
/// it comes from storage. All ranks that ask with the same owners get the same answer.
///
/// # Errors
/// When the world is empty.
pub fn assign(
    ids: &[u64],
    world_size: u32,
    owner: impl Fn(u64) -> Option<u32>,
) -> Result<Assignment> {
    if world_size == 0 {
        return Err(Error::usage("world", "there is no rank to take the rows"));
    }
    let n_rows = ids.len() as u64;
    let target = |rank| {
        let Range { start, end } = share(n_rows, rank, world_size);
        // A share of a slice's length is a length.
        (end - start) as usize
    };
    let mut rows = vec![Vec::new(); world_size as usize];
    let (mut unowned, mut surplus) = (Vec::new(), Vec::new());
    for (row, id) in ids.iter().enumerate() {
        let Some(from) = owner(*id).filter(|from| *from < world_size) else {
            unowned.push((row, None));
            continue;
        };
        match rows.get_mut(from as usize) {
            Some(own) if own.len() < target(from) => own.push(row),
            _ => surplus.push((row, Some(from))),
        }
    }
    let mut pool = unowned.into_iter().chain(surplus);
    let mut transfers = Vec::new();
    for (taken, to) in rows.iter_mut().zip(0..) {
        let missing = target(to) - taken.len();
        for (row, from) in pool.by_ref().take(missing) {
            taken.push(row);
            transfers.extend(from.map(|from| Transfer { row, from, to }));
        }
        taken.sort_unstable();
    }
    Ok(Assignment { rows, transfers })
}

#[cfg(test)]
mod tests {
    use super::{Transfer, assign};
    use crate::order::Permutation;

    #[test]
    fn ranks_take_their_own_first_and_the_rest_evens_them_out() {
        // Rank 0 holds six of ten rows, rank 1 one, no one the others.
        let owners = [0, 0, 9, 0, 0, 9, 1, 0, 9, 0];
        let ids: Vec<u64> = (0..10).collect();
        let assigned = assign(&ids, 3, |id| Some(owners[id as usize])).unwrap();
        assert_eq!(assigned.rows, [vec![0, 1, 3, 4], vec![2, 5, 6], vec![7, 8, 9]]);
        let transfers = [7, 9].map(|row| Transfer { row, from: 0, to: 2 });
        assert_eq!(assigned.transfers, transfers);
    }

    #[test]
    fn every_row_is_taken_once_and_no_more_moves_than_must() {
        for case in 0..500 {
            let (n_rows, world_size) = (case % 37, 1 + case as u32 % 7);
            let random = |id| Permutation::new(1 << 20, case).at(id) as u32 % (world_size + 2);
            let owner = |id| Some(random(id)).filter(|owner| *owner <= world_size);
            let ids: Vec<u64> = (0..n_rows).map(|row| row * 3).collect();
            let assigned = assign(&ids, world_size, owner).unwrap();
            let mut all = assigned.rows.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..ids.len()));
            let mut must_move = 0;
            for (rank, rows) in (0..).zip(&assigned.rows) {
                let n_extra = u32::from(rank < n_rows as u32 % world_size);
                let target = n_rows as u32 / world_size + n_extra;
                assert_eq!(rows.len() as u32, target);
                let n_own = ids.iter().filter(|id| owner(**id) == Some(rank)).count();
                must_move += n_own.saturating_sub(target as usize);
            }
            assert_eq!(assigned.transfers.len(), must_move);
            for Transfer { row, from, to } in assigned.transfers {
                assert_eq!(owner(ids[row]), Some(from));
                assert!(from != to && assigned.rows[to as usize].contains(&row));
            }
        }
        assert!(assign(&[1], 0, |_| None).is_err());
        assert_eq!(assign(&[], 2, |_| None).unwrap().rows, [[0_usize; 0]; 2]);
    }

    #[test]
    fn the_part_that_moves_is_as_expected() {
        for (n_ranks, per_rank) in [(4_u32, 64_u64), (16, 32), (64, 128), (256, 32)] {
            let n_rows = u64::from(n_ranks) * per_rank;
            // So many that the spread of the mean is about 2 percent of it.
            let n_batches = 4000 / u64::from(n_ranks);
            let mut n_moved = 0;
            for batch in 0..n_batches {
                let permutation = Permutation::new(1 << 40, batch);
                let owner = |id| Some((permutation.at(id) % u64::from(n_ranks)) as u32);
                let ids: Vec<u64> = (0..n_rows).collect();
                n_moved += assign(&ids, n_ranks, owner).unwrap().transfers.len();
            }
            let found = n_moved as f64 / (n_batches * n_rows) as f64;
            let spread = (1.0 - 1.0 / f64::from(n_ranks)).sqrt();
            let expected = spread / (2.0 * std::f64::consts::PI * per_rank as f64).sqrt();
            assert!((found / expected - 1.0).abs() < 0.1, "{n_ranks}: {found}, not {expected}");
        }
    }
}
