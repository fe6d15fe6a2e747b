//! The same images in several forms, as one dataset of any ratio: it costs the same to read and
//! decode as a mixed set of that ratio, without writing one.
use fdconvert_core::{
    Encoded, Error, Extent, Image, Look, Reader, Result, Sample, Source, SourceFacts,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Sample `i` is sample `i mod n` of one of the readers, which all have the same `n` samples in the
/// same order: more samples than images allow finer ratios.
pub(crate) struct Blend {
    facts: SourceFacts,
    readers: Vec<Arc<dyn Reader>>,
    n_images: u64,
    form: Vec<usize>,
    strata: Vec<Vec<u64>>,
}

impl Blend {
    /// # Errors
    /// `Usage` without readers or images.
    pub(crate) fn new(readers: &[Arc<dyn Reader>], form: Vec<usize>) -> Result<Self> {
        let first = readers.first().filter(|reader| !reader.is_empty());
        let first = first.ok_or_else(|| Error::usage("profile", "there are no images"))?;
        let n_images = first.len();
        let facts = SourceFacts::new("trial", first.schema().clone(), form.len() as u64);
        let of = |reader| (0..).zip(&form).filter(move |(_, form)| **form == reader);
        let strata = (0..readers.len()).map(|reader| of(reader).map(|(index, _)| index).collect());
        let strata = strata.collect();
        Ok(Self { facts, readers: readers.to_vec(), n_images, strata, form })
    }

    /// Returns the reader of a sample, and its number there.
    fn place(&self, index: u64) -> Result<(&dyn Reader, u64)> {
        let form = usize::try_from(index).ok().and_then(|index| self.form.get(index));
        let reader = form.and_then(|form| self.readers.get(*form));
        let reader =
            reader.ok_or_else(|| Error::usage("sample", format!("there is no sample {index}")))?;
        Ok((&**reader, index % self.n_images))
    }

    /// Yields the strata without the empty ones.
    fn filled(&self) -> impl Iterator<Item = &Vec<u64>> {
        self.strata.iter().filter(|stratum| !stratum.is_empty())
    }
}

impl Source for Blend {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.get(index).map(Into::into)
    }

    fn key(&self, index: u64) -> String {
        let place = self.place(index);
        place.map_or_else(|_| format!("#{index}"), |(reader, image)| reader.key(image))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

impl Reader for Blend {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        let (reader, image) = self.place(index)?;
        reader.get(image)
    }

    fn strata(&self) -> Vec<u64> {
        self.filled().map(|stratum| stratum.len() as u64).collect()
    }

    fn stratum_sample(&self, stratum: usize, position: u64) -> u64 {
        let at = usize::try_from(position).ok();
        let sample = self.filled().nth(stratum).zip(at).and_then(|(stratum, at)| stratum.get(at));
        sample.copied().unwrap_or(u64::MAX)
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        let (reader, image) = self.place(index)?;
        reader.image_extent(image)
    }

    fn details(&self) -> Map<String, Value> {
        Map::new()
    }

    fn verify_layout(&self) -> Vec<Error> {
        Vec::new()
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        let (reader, image) = self.place(index)?;
        reader.verify_sample(image)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        let (reader, image) = self.place(index)?;
        reader.verify_row(image)
    }
}
