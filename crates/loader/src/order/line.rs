//! The line of all strata in an epoch: the stratum at each position, and the draw from it.
use super::{
    epoch::Place,
    merge::Merge,
    strata::{Arrangement, Draws, Stratum},
};

#[derive(Debug, Clone)]
pub(crate) struct Line {
    draws: Vec<Draws>,
    /// Position of the first sample of each stratum, if strata follow one another.
    starts: Vec<u64>,
    len: u64,
    arrangement: Arrangement,
}

impl Line {
    /// Creates the line of an epoch. `residents` has the number of samples that are spread over the
    /// draws of each stratum, or nothing.
    pub(crate) fn new(
        strata: &[Stratum],
        arrangement: Arrangement,
        residents: &[u64],
        seed: u64,
        epoch: u64,
    ) -> Self {
        let mut starts = Vec::with_capacity(strata.len());
        let mut len = 0_u64;
        for stratum in strata {
            starts.push(len);
            len = len.saturating_add(stratum.count);
        }
        let draws = strata.iter().zip(0..).map(|(stratum, at)| {
            let draws = Draws::new(*stratum, arrangement, seed, epoch, at);
            match residents.get(at as usize) {
                Some(n_residents) => draws.split(*n_residents),
                None => draws,
            }
        });
        Self { draws: draws.collect(), starts, len, arrangement }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if rows are shuffled within a step.
    pub(crate) fn is_shuffled(&self) -> bool {
        self.arrangement != Arrangement::Straight
    }

    /// Returns true if any sample repeats in the epoch.
    pub(crate) fn repeats(&self) -> bool {
        self.draws.iter().map(Draws::stratum).any(|Stratum { len, count }| count > len)
    }

    /// Returns the number of earlier occurrences of the sample at a position.
    pub(crate) fn occurrence(&self, position: u64) -> u64 {
        let Some((stratum, index)) = self.draw(position) else { return 0 };
        self.draws.get(stratum as usize).map_or(0, |draws| draws.pass(index))
    }

    /// Returns the stratum at a position, and the number of the draw from it.
    #[inline]
    pub(crate) fn draw(&self, position: u64) -> Option<(u32, u64)> {
        if position >= self.len {
            return None;
        }
        if self.draws.len() == 1 {
            return Some((0, position));
        }
        match self.arrangement {
            Arrangement::Straight => self.concatenated(position),
            Arrangement::Shuffled | Arrangement::Windowed { .. } => self.merged(position).next(),
        }
    }

    /// Returns the sample at a position.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> Option<Place> {
        let (stratum, index) = self.draw(position)?;
        self.place(stratum, index)
    }

    /// Returns the draws from a position on, if they are merged.
    pub(crate) fn merge_from(&self, position: u64) -> Option<Merge> {
        (self.is_shuffled() && position < self.len).then(|| self.merged(position))
    }

    #[inline]
    pub(crate) fn place(&self, stratum: u32, index: u64) -> Option<Place> {
        let draws = self.draws.get(stratum as usize)?;
        Some(Place { stratum, id: draws.id(index) })
    }

    fn merged(&self, position: u64) -> Merge {
        let counts = self.draws.iter().map(|draws| draws.stratum().count);
        Merge::at(counts, self.len, position)
    }

    fn concatenated(&self, position: u64) -> Option<(u32, u64)> {
        // The last stratum that starts at or before the position: empty ones come before it.
        let stratum = self.starts.partition_point(|start| *start <= position).checked_sub(1)?;
        let start = self.starts.get(stratum)?;
        Some((u32::try_from(stratum).ok()?, position - start))
    }
}
