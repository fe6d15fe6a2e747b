//! Reads every sample once, for the checksum of its image and the hash of its content.
use super::{
    Datasets,
    hash::{Looker, Seen},
};
use crate::{Context, Stage, chunk::Chunk, verify::MAX_PROBLEMS};
use fdconvert_core::{Encoded, Error, Limits, Reader, Remark, Result, Value};
use fdconvert_storage::sigbus;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// An image with a checksum, and a hash if hashes were requested.
    Seen,
    /// An image without detail, with a checksum.
    Flat,
    /// The sample cannot be read, or its image cannot be decoded.
    Unreadable,
}

/// All samples, by number.
pub(super) struct Scan {
    /// XXH3 of the stored bytes of the first image.
    pub(super) sums: Vec<u64>,
    /// Hashes of the contents; empty if not requested.
    pub(super) hashes: Vec<u64>,
    pub(super) states: Vec<State>,
    unreadable: Vec<(u32, Remark)>,
    unreadable_left_out: u64,
}

impl Scan {
    /// Scans all samples, with `near` also the content of their images.
    pub(super) fn of(
        set: &Datasets<'_>,
        near: bool,
        limits: &Limits,
        context: Context<'_>,
    ) -> Result<Self> {
        let steps = context.progress.stage(Stage::Hashing);
        steps.total(set.len());
        let n_samples = usize::try_from(set.len()).unwrap_or(usize::MAX);
        let mut scan = Self {
            sums: Vec::with_capacity(n_samples),
            hashes: Vec::with_capacity(if near { n_samples } else { 0 }),
            states: Vec::with_capacity(n_samples),
            unreadable: Vec::new(),
            unreadable_left_out: 0,
        };
        for reader in &set.readers {
            let reads = near || !has_sums(*reader);
            let chunk_of = if reads { Chunk::of } else { Chunk::of_tables };
            let mut chunk = chunk_of(*reader, 0);
            while !chunk.samples.is_empty() {
                // Fetched while this one is scanned.
                let next = chunk_of(*reader, chunk.samples.end);
                if context.cancel.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                let look = |looker: &mut Looker, index: u64| {
                    let looked = look(*reader, index, near.then_some((looker, limits)));
                    steps.step();
                    looked
                };
                let samples = chunk.samples.clone().into_par_iter();
                let looked: Vec<_> = samples.map_init(Looker::default, look).collect();
                looked.into_iter().for_each(|looked| scan.push(looked, near));
                chunk = next;
            }
        }
        Ok(scan)
    }

    fn push(&mut self, looked: Result<(u64, Option<Seen>)>, near: bool) {
        let (sum, hash, state) = match looked {
            Ok((sum, None)) => (sum, 0, State::Seen),
            Ok((sum, Some(Seen::Flat))) => (sum, 0, State::Flat),
            Ok((sum, Some(Seen::Hash(hash)))) => (sum, hash, State::Seen),
            Err(error) => {
                self.list(self.states.len() as u32, || error.remark());
                (0, 0, State::Unreadable)
            }
        };
        self.sums.push(sum);
        self.states.push(state);
        if near {
            self.hashes.push(hash);
        }
    }

    /// Marks a scanned sample that could not be read later.
    pub(super) fn is_unreadable(&mut self, id: u32, why: Remark) {
        if let Some(state) = self.states.get_mut(id as usize) {
            *state = State::Unreadable;
        }
        self.list(id, || why);
    }

    fn list(&mut self, id: u32, why: impl FnOnce() -> Remark) {
        match self.unreadable.len() < MAX_PROBLEMS {
            true => self.unreadable.push((id, why())),
            false => self.unreadable_left_out += 1,
        }
    }

    /// Returns the unreadable samples with their reasons, in order, and the number of further ones.
    pub(super) fn into_unreadable(mut self) -> (Vec<(u32, Remark)>, u64) {
        self.unreadable.sort_by_key(|(id, _)| *id);
        (self.unreadable, self.unreadable_left_out)
    }

    pub(super) fn state(&self, id: u32) -> State {
        self.states.get(id as usize).copied().unwrap_or(State::Unreadable)
    }

    pub(super) fn n_flat(&self) -> u64 {
        self.states.iter().filter(|state| **state == State::Flat).count() as u64
    }
}

/// Returns true if the checksums of images are recorded, by the first sample.
pub(super) fn has_sums(reader: &dyn Reader) -> bool {
    let first = if reader.is_empty() { None } else { reader.image_extent(0).ok().flatten() };
    first.is_some_and(|extent| extent.xxh3.is_some())
}

/// Returns the recorded checksum of a sample's image, without reading the image.
pub(super) fn recorded(reader: &dyn Reader, index: u64) -> Result<Option<u64>> {
    Ok(reader.image_extent(index)?.and_then(|extent| extent.xxh3))
}

/// Returns the first image of a sample.
pub(super) fn image(reader: &dyn Reader, index: u64) -> Result<(String, Encoded)> {
    let sample = reader.get(index)?;
    let field = reader.schema().first_image();
    match field.and_then(|field| sample.values.into_iter().nth(field)) {
        Some(Value::Image(image)) => Ok((sample.key, image)),
        _ => Err(Error::sample(&sample.key, "it has no image")),
    }
}

fn look(
    reader: &dyn Reader,
    index: u64,
    near: Option<(&mut Looker, &Limits)>,
) -> Result<(u64, Option<Seen>)> {
    let sum = recorded(reader, index)?;
    match (sum, near) {
        (Some(sum), None) => Ok((sum, None)),
        (None, None) => sigbus::caught(|| {
            let (_, image) = image(reader, index)?;
            Ok((xxh3_64(&image.bytes), None))
        }),
        (sum, Some((looker, limits))) => sigbus::caught(|| {
            let (key, image) = image(reader, index)?;
            let seen = looker.hash(&key, &image, limits)?;
            Ok((sum.unwrap_or_else(|| xxh3_64(&image.bytes)), Some(seen)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_samples_without_end_are_counted() {
        let n_samples = MAX_PROBLEMS as u32 + 3;
        let mut scan = Scan {
            sums: Vec::new(),
            hashes: Vec::new(),
            states: vec![State::Seen; n_samples as usize],
            unreadable: Vec::new(),
            unreadable_left_out: 0,
        };
        (0..n_samples).for_each(|id| scan.is_unreadable(id, Remark::default()));
        assert!((0..n_samples).all(|id| scan.state(id) == State::Unreadable));
        let (listed, left_out) = scan.into_unreadable();
        assert_eq!((listed.len(), left_out), (MAX_PROBLEMS, 3));
    }
}
