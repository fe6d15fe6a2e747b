//! Stored datasets as one.
use crate::Concat;
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Codec, Drawn, Encoded, Error, Extent, Generated, Image, LanesImage, Look,
    Reader, Result, Sample, Source, SourceFacts, Value,
};
use std::sync::{Arc, OnceLock};

/// Several datasets as one, one after the other, with the rules of [`Concat`] for their fields and
/// classes.
pub struct Joined {
    concat: Concat,
    readers: Vec<Arc<dyn Reader>>,
    drawn: Option<Drawn>,
    /// The strata of all datasets.
    strata: OnceLock<Vec<Stratum>>,
}

struct Stratum {
    dataset: usize,
    /// Number of the stratum in its dataset.
    within: usize,
    len: u64,
    /// First index of the dataset.
    start: u64,
}

impl Joined {
    /// Joins datasets.
    ///
    /// # Errors
    /// `Usage` without datasets, for different fields, and for generated images among stored ones
    /// or of another size.
    pub fn new(readers: Vec<Arc<dyn Reader>>) -> Result<Self> {
        let sources = readers.iter().map(|reader| Arc::clone(reader) as Arc<dyn Source>);
        // Its cures are options of packing.
        let without_cures = |error| match error {
            Error::Usage { what, .. } => Error::usage("datasets", what.text),
            error => error,
        };
        let concat = Concat::of(sources.collect(), None).map_err(without_cures)?;
        let drawn = |reader: &Arc<dyn Reader>| reader.as_generated().map(Generated::drawn);
        let first = readers.first().and_then(drawn);
        if let Some(other) = readers.iter().find(|reader| drawn(reader) != first) {
            let what = format!(
                "the images of {} are not generated in the way of the first dataset's: a list of \
                 datasets for the loader may have both",
                other.name()
            );
            return Err(Error::usage("datasets", what));
        }
        Ok(Self { concat, readers, drawn: first, strata: OnceLock::new() })
    }

    /// Returns the dataset of a sample by number, and the sample's index there.
    fn place(&self, index: u64) -> Result<(usize, &dyn Reader, u64)> {
        let place = self.concat.locate(index).and_then(|(number, inner)| {
            let reader = self.readers.get(number)?;
            Some((number, &**reader, inner))
        });
        place.ok_or_else(|| {
            let what = format!("there is no sample {index}, only {}", self.len());
            Error::usage("sample", what)
        })
    }

    fn at(&self, index: u64) -> Result<(&dyn Reader, u64)> {
        self.place(index).map(|(_, reader, inner)| (reader, inner))
    }

    fn strata(&self) -> &[Stratum] {
        self.strata.get_or_init(|| {
            let (mut strata, mut start) = (Vec::new(), 0);
            for (dataset, reader) in self.readers.iter().enumerate() {
                let lens = reader.strata().into_iter().enumerate();
                strata.extend(lens.map(|(within, len)| Stratum { dataset, within, len, start }));
                start += reader.len();
            }
            strata
        })
    }

    /// Joins the datasets in another form.
    fn of(&self, readers: Vec<Arc<dyn Reader>>) -> Result<Box<dyn Reader>> {
        Ok(Box::new(Self::new(readers)?))
    }
}

impl Source for Joined {
    fn facts(&self) -> &SourceFacts {
        self.concat.facts()
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.concat.read(index)
    }

    fn key(&self, index: u64) -> String {
        self.concat.key(index)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        self.concat.fingerprint(look)
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        self.concat.value(index, field)
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        self.concat.codec_hint(index)
    }

    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        self.concat.bytes(index, amount)
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        self.concat.image_size(index)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        self.concat.read_ahead(indices)
    }
}

impl Reader for Joined {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        let (number, reader, inner) = self.place(index)?;
        let mut sample = reader.get(inner)?;
        self.concat.settle(number, index, &mut sample)?;
        Ok(sample)
    }

    fn as_generated(&self) -> Option<&dyn Generated> {
        self.drawn.map(|_| self as &dyn Generated)
    }

    fn strata(&self) -> Vec<u64> {
        self.strata().iter().map(|stratum| stratum.len).collect()
    }

    fn stratum_sample(&self, stratum: usize, position: u64) -> u64 {
        let found = self.strata().get(stratum).and_then(|stratum| {
            let inner = self.readers.get(stratum.dataset)?.stratum_sample(stratum.within, position);
            stratum.start.checked_add(inner)
        });
        // A missing sample has no index.
        found.unwrap_or(u64::MAX)
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        let (reader, inner) = self.at(index)?;
        reader.image_extent(inner)
    }

    fn entry_points(&self, index: u64, field: usize) -> Result<Option<Bytes>> {
        let (reader, inner) = self.at(index)?;
        reader.entry_points(inner, field)
    }

    fn details(&self) -> serde_json::Map<String, serde_json::Value> {
        let names = self.readers.iter().map(|reader| reader.name()).collect::<Vec<_>>();
        [("datasets".to_owned(), serde_json::json!(names))].into_iter().collect()
    }

    fn verify_layout(&self) -> Vec<Error> {
        self.readers.iter().flat_map(|reader| reader.verify_layout()).collect()
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        let (reader, inner) = self.at(index)?;
        reader.verify_sample(inner)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        let (reader, inner) = self.at(index)?;
        reader.verify_row(inner)
    }

    fn has_checksums(&self) -> bool {
        self.readers.iter().all(|reader| reader.has_checksums())
    }
}

impl Generated for Joined {
    fn drawn(&self) -> Drawn {
        self.drawn.unwrap_or(Drawn { side: 0, is_free: false })
    }

    fn drawn_at(&self, side: u32) -> Result<Box<dyn Reader>> {
        let drawn = self.readers.iter().map(|reader| match reader.as_generated() {
            Some(generated) => generated.drawn_at(side).map(Arc::from),
            None => Ok(Arc::clone(reader)),
        });
        self.of(drawn.collect::<Result<_>>()?)
    }

    fn at_epoch(&self, epoch: u64) -> Result<Option<Box<dyn Reader>>> {
        let mut is_new = false;
        let readers = self.readers.iter().map(|reader| {
            let generated = reader.as_generated();
            let new = generated.map_or(Ok(None), |generated| generated.at_epoch(epoch))?;
            is_new |= new.is_some();
            Ok(new.map_or_else(|| Arc::clone(reader), Arc::from))
        });
        let readers = readers.collect::<Result<_>>()?;
        if is_new { self.of(readers).map(Some) } else { Ok(None) }
    }

    fn lanes(&self, index: u64) -> Result<Option<LanesImage>> {
        let (reader, inner) = self.at(index)?;
        reader.as_generated().map_or(Ok(None), |generated| generated.lanes(inner))
    }
}
