//! A dataset of single pixels in groups that records its reads.
use bytes::Bytes;
use fdconvert_core::{
    Amount, Codec, Drawn, Encoded, Error, FieldSpec, Generated, Image, Kind, LanesImage, Look,
    Reader, Result, Sample, Schema, Source, SourceFacts, Value,
};
use fdconvert_loader::Loader;
use std::sync::{Arc, Mutex};

/// Samples of the groups, shuffled in the dataset.
pub(crate) struct Groups {
    facts: SourceFacts,
    samples: Vec<Vec<u64>>,
    group_of: Vec<usize>,
    reads: Mutex<Vec<u64>>,
    knows_sizes: bool,
    new_every_epoch: bool,
}

impl Groups {
    pub(crate) fn new(sizes: &[u64]) -> Arc<Self> {
        let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)];
        let mut left = sizes.to_vec();
        let mut this = Self {
            facts: SourceFacts::new("groups", Schema::new(fields).unwrap(), sizes.iter().sum()),
            samples: vec![Vec::new(); sizes.len()],
            group_of: Vec::new(),
            reads: Mutex::default(),
            knows_sizes: true,
            new_every_epoch: false,
        };
        // In turn, until none is left.
        while left.iter().any(|left| *left > 0) {
            for (group, left) in left.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
                *left -= 1;
                this.samples[group].push(this.group_of.len() as u64);
                this.group_of.push(group);
            }
        }
        Arc::new(this)
    }

    pub(crate) fn without_sizes(self: Arc<Self>) -> Arc<Self> {
        let this = Arc::into_inner(self).unwrap();
        Arc::new(Self { knows_sizes: false, ..this })
    }

    pub(crate) fn new_every_epoch(self: Arc<Self>) -> Arc<Self> {
        let this = Arc::into_inner(self).unwrap();
        Arc::new(Self { new_every_epoch: true, ..this })
    }

    pub(crate) fn n_samples(&self) -> u64 {
        self.group_of.len() as u64
    }

    pub(crate) fn stratum_of(&self, sample: u64) -> usize {
        self.group_of[sample as usize]
    }

    /// Returns the claimed bytes of the image.
    pub(crate) fn size(&self, sample: u64) -> u64 {
        1 + sample % 5
    }

    pub(crate) fn reads(&self) -> Vec<u64> {
        self.reads.lock().unwrap().clone()
    }

    pub(crate) fn forget_reads(&self) {
        self.reads.lock().unwrap().clear();
    }
}

/// Returns a share of the bytes of all images.
pub(crate) fn budget(reader: &Groups, share: f64) -> u64 {
    let all: u64 = (0..reader.n_samples()).map(|sample| reader.size(sample)).sum();
    (all as f64 * share) as u64
}

/// Returns the samples of every batch up to the end of the epoch.
pub(crate) fn samples(loader: &mut Loader) -> Vec<Vec<u64>> {
    let mut batches = Vec::new();
    while let Some(batch) = loader.next_batch() {
        batches.push(batch.unwrap().samples().to_vec());
    }
    batches
}

impl Source for Groups {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.get(index).map(Into::into)
    }

    fn key(&self, index: u64) -> String {
        index.to_string()
    }

    fn bytes(&self, index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(self.knows_sizes.then(|| self.size(index)))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(u128::from(self.n_samples()).to_le_bytes())
    }
}

impl Reader for Groups {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        self.reads.lock().unwrap().push(index);
        let bytes = Bytes::copy_from_slice(&[index as u8, (index >> 8) as u8, 7]);
        let image = Encoded::new(Codec::Raw, 1, 1, bytes);
        let values = vec![Value::Image(image), Value::Int(index as i64)];
        Ok(Sample { key: self.key(index), values })
    }

    fn as_generated(&self) -> Option<&dyn Generated> {
        if self.new_every_epoch { Some(self) } else { None }
    }

    fn strata(&self) -> Vec<u64> {
        self.samples.iter().map(|group| group.len() as u64).collect()
    }

    fn stratum_sample(&self, stratum: usize, position: u64) -> u64 {
        self.samples[stratum][position as usize]
    }

    fn details(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    fn verify_layout(&self) -> Vec<Error> {
        Vec::new()
    }

    fn verify_sample(&self, _index: u64) -> Result<()> {
        Ok(())
    }
}

impl Generated for Groups {
    fn drawn(&self) -> Drawn {
        Drawn { side: 1, is_free: false }
    }

    fn drawn_at(&self, _side: u32) -> Result<Box<dyn Reader>> {
        Ok(Box::new(Arc::into_inner(Self::new(&self.strata())).unwrap()))
    }

    fn at_epoch(&self, _epoch: u64) -> Result<Option<Box<dyn Reader>>> {
        self.drawn_at(1).map(Some)
    }

    fn lanes(&self, _index: u64) -> Result<Option<LanesImage>> {
        Ok(None)
    }
}
