//! Assigns rows to the caches that hold them already.
//!
//! Training sums the gradients of all rows of a global batch, so that any rank may compute any row
//! while the global batch stays the same set of samples. If ranks keep parts of the dataset in
//! caches, each row should go where its sample is kept (Yang and Cong, "Accelerating Data Loading
//! in Deep Neural Network Training", HiPC 2019).
//!
//! ```text
//! each cache takes the rows that it owns, in order, up to its share of the batch
//! the rest is the pool: first rows without an owner, then those beyond their owner's share
//! caches below their share take from the pool, in their order
//! ```
//!
//! Rows without an owner come from storage on any rank, so that they even out the shares for free.
//! The rows that a cache owns beyond its share have to move in any case: no assignment moves less.
//! If the owners of the rows are random and a cache has `b` of the `b p` rows, the number it owns
//! varies by `sqrt(b (1 - 1/p))`, and the expected part of the batch that moves is `sqrt(1 - 1/p) /
//! sqrt(2 pi b)`: 3.5 percent at 128 rows per cache, while an assignment without regard to owners
//! would move nearly all.

/// Assignment of the rows of a global batch to caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Row numbers in the batch of each cache, ascending.
    pub rows: Vec<Vec<usize>>,
    /// Rows taken by another cache than their owner, by the taker, then by row.
    pub moved: Vec<Moved>,
}

/// Row taken by another cache than the owner of its sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Number of the row in the batch.
    pub row: usize,
    /// Cache that owns the sample.
    pub from: u32,
    /// Cache that takes the row.
    pub to: u32,
}

/// Assigns the rows of a global batch to caches, with as few moved rows as possible.
///
/// `owners` are those of the rows; `None`, or an owner without a share, means that the sample comes
/// from storage. `shares` are the numbers of rows for each cache, and add up to all rows. Equal
/// arguments give equal results on all ranks.
#[must_use]
pub fn assign(owners: &[Option<u32>], shares: &[usize]) -> Assignment {
    let mut rows: Vec<Vec<usize>> =
        shares.iter().map(|share| Vec::with_capacity((*share).min(owners.len()))).collect();
    let (mut unowned, mut surplus) = (Vec::new(), Vec::new());
    for (row, owner) in owners.iter().enumerate() {
        let own = owner.and_then(|from| {
            let at = from as usize;
            Some((from, rows.get_mut(at)?, *shares.get(at)?))
        });
        match own {
            None => unowned.push((row, None)),
            Some((_, own, share)) if own.len() < share => own.push(row),
            Some((from, ..)) => surplus.push((row, Some(from))),
        }
    }
    let mut pool = unowned.into_iter().chain(surplus);
    let mut moved = Vec::new();
    for ((taken, share), to) in rows.iter_mut().zip(shares).zip(0..) {
        let missing = share.saturating_sub(taken.len());
        for (row, from) in pool.by_ref().take(missing) {
            taken.push(row);
            moved.extend(from.map(|from| Moved { row, from, to }));
        }
        taken.sort_unstable();
    }
    Assignment { rows, moved }
}

#[cfg(test)]
mod tests {
    use super::{Moved, assign};
    use crate::order::{Permutation, steps::share};

    fn shares(n_rows: u64, n_caches: u32) -> Vec<usize> {
        let count = |cache| share(n_rows, cache, n_caches).count();
        (0..n_caches).map(count).collect()
    }

    #[test]
    fn caches_take_their_own_first_and_the_rest_evens_them_out() {
        // Cache 0 owns six of ten rows, cache 1 one; the others have no owner.
        let owners = [0, 0, 9, 0, 0, 9, 1, 0, 9, 0].map(Some);
        let assigned = assign(&owners, &shares(10, 3));
        assert_eq!(assigned.rows, [vec![0, 1, 3, 4], vec![2, 5, 6], vec![7, 8, 9]]);
        let moved = [7, 9].map(|row| Moved { row, from: 0, to: 2 });
        assert_eq!(assigned.moved, moved);
    }

    #[test]
    fn every_row_is_taken_once_and_no_more_moves_than_must() {
        for case in 0..500 {
            let (n_rows, n_caches) = (case % 37, 1 + case as u32 % 7);
            let random = |row| Permutation::new(1 << 20, case).at(row) as u32 % (n_caches + 2);
            let owners: Vec<_> =
                (0..n_rows).map(|row| Some(random(row)).filter(|it| *it <= n_caches)).collect();
            let shares = shares(n_rows, n_caches);
            let assigned = assign(&owners, &shares);
            let mut all = assigned.rows.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..owners.len()));
            let mut must_move = 0;
            for ((cache, rows), share) in (0..).zip(&assigned.rows).zip(&shares) {
                assert_eq!(rows.len(), *share);
                let n_own = owners.iter().filter(|owner| **owner == Some(cache)).count();
                must_move += n_own.saturating_sub(*share);
            }
            assert_eq!(assigned.moved.len(), must_move);
            for Moved { row, from, to } in assigned.moved {
                assert_eq!(owners[row], Some(from));
                assert!(from != to && assigned.rows[to as usize].contains(&row));
            }
        }
        assert!(assign(&[Some(0)], &[]).rows.is_empty());
        assert_eq!(assign(&[], &[0, 0]).rows, [[0_usize; 0]; 2]);
    }

    #[test]
    fn the_part_that_moves_is_as_expected() {
        for (n_caches, per_cache) in [(4_u32, 64_u64), (16, 32), (64, 128), (256, 32)] {
            let n_rows = u64::from(n_caches) * per_cache;
            // Enough batches for a spread of the mean of about 2 percent.
            let n_batches = 4000 / u64::from(n_caches);
            let mut n_moved = 0;
            for batch in 0..n_batches {
                let permutation = Permutation::new(1 << 40, batch);
                let owner = |row| Some((permutation.at(row) % u64::from(n_caches)) as u32);
                let owners: Vec<_> = (0..n_rows).map(owner).collect();
                n_moved += assign(&owners, &shares(n_rows, n_caches)).moved.len();
            }
            let found = n_moved as f64 / (n_batches * n_rows) as f64;
            let spread = (1.0 - 1.0 / f64::from(n_caches)).sqrt();
            let expected = spread / (2.0 * std::f64::consts::PI * per_cache as f64).sqrt();
            assert!((found / expected - 1.0).abs() < 0.1, "{n_caches}: {found}, not {expected}");
        }
    }
}
