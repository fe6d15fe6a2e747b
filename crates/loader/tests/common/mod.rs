//! A dataset in memory that can be slow or broken.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "each test file uses its part")]

pub(crate) mod changes;
pub(crate) mod groups;
pub(crate) mod legs;
pub(crate) mod shapes;
pub(crate) mod steps;

use bytes::Bytes;
use fdconvert_codec::{Encoder, JpegOptions};
use fdconvert_core::{
    Amount, Codec, Common, Complete, Create, Encoded, Error, FieldSpec, Format, Image, Kind, Look,
    Provenance, Reader, Result, Sample, Schema, Shard, Source, SourceFacts, Value,
};
use fdconvert_jpeg::stored_entry_points;
use fdconvert_loader::{Batch, Datasets, Loader, Options, Transform, TransformList};
use fdconvert_testkit::fixtures::pixels;
use std::{
    collections::BTreeSet,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use xxhash_rust::xxh3::xxh3_64;

/// Checks a list of transforms.
pub(crate) fn list(transforms: impl Into<Vec<Transform>>) -> TransformList {
    TransformList::new(transforms.into()).unwrap()
}

/// Reads a transform whose missing arguments are the usual ones.
pub(crate) fn transform(json: &str) -> Transform {
    serde_json::from_str(json).unwrap()
}

/// Returns options for small images: the middle of them.
pub(crate) fn options(batch_size: u32, side: u32) -> Options {
    let transform = list([Transform::resize(side + 2), Transform::center_crop(side)]);
    Options::default().batch_size(batch_size).threads(2).transform(transform)
}

/// Creates a random crop of nearly any size to this height and width.
pub(crate) fn random_part(size: [u32; 2]) -> Transform {
    Transform::RandomResizedCrop { size, scale: [0.1, 1.0], ratio: [0.75, 1.3333] }
}

/// Returns options with random crops and flips.
pub(crate) fn random_crop() -> Options {
    random_and([])
}

/// Returns options with random crops and flips, and these transforms after them.
pub(crate) fn random_and<const N: usize>(rest: [Transform; N]) -> Options {
    let mut transforms = vec![random_part([16, 16]), Transform::random_horizontal_flip()];
    transforms.extend(rest);
    options(8, 16).transform(list(transforms))
}

/// Packs and opens a dataset of one shard.
pub(crate) fn packed(
    format: &dyn Format,
    out: &Path,
    schema: &Schema,
    samples: &[Sample<Encoded>],
) -> Arc<dyn Reader> {
    let (shard, common) = (&Shard::whole(samples.len() as u64), &Common::default());
    let (provenance, fingerprint) = (&Provenance::default(), [3; 16]);
    let create = Create {
        out,
        schema,
        shard,
        common,
        provenance,
        fingerprint,
        stamp: fingerprint,
        overwrite: false,
        entry_points: false,
        is_open: false,
    };
    let mut writer = format.create(&create).unwrap();
    samples.iter().for_each(|sample| writer.write(sample).unwrap());
    let shards = &[(shard.clone(), writer.finish().unwrap())];
    let complete = Complete { out, schema, shards, common, provenance, fingerprint };
    format.complete(&complete).unwrap();
    format.open(out).unwrap().into()
}

pub(crate) fn loader(reader: &Arc<Memory>, options: Options) -> Loader {
    Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) samples: Vec<u64>,
    pub(crate) labels: Vec<i64>,
    pub(crate) valid: Vec<bool>,
    pub(crate) pixels: u64,
}

pub(crate) fn seen(batch: &Batch) -> Seen {
    Seen {
        samples: batch.samples().to_vec(),
        labels: batch.labels().unwrap().to_vec(),
        valid: batch.valid().to_vec(),
        pixels: xxh3_64(batch.images()),
    }
}

/// Returns all batches up to the end of the epoch.
pub(crate) fn epoch(loader: &mut Loader) -> Vec<Seen> {
    let mut batches = Vec::new();
    while let Some(batch) = loader.next_batch() {
        batches.push(seen(&batch.unwrap()));
    }
    batches
}

/// Different small images, labelled by their number modulo 7, or modulo the number of classes.
pub(crate) struct Memory {
    facts: SourceFacts,
    images: Vec<Encoded>,
    entry_points: Vec<Option<Bytes>>,
    n_classes: u64,
    broken: BTreeSet<u64>,
    panicking: Option<u64>,
    flaky: AtomicI64,
    latency: Duration,
    reads: AtomicU64,
    in_flight: AtomicU64,
    most_in_flight: AtomicU64,
    /// Values of each sample besides the image, if that is not the label.
    others: Option<Vec<Value<Encoded>>>,
}

impl Memory {
    pub(crate) fn new(len: u64) -> Arc<Self> {
        let mut encoder = Encoder::new();
        let image = |number: u64| {
            let (width, height) = (20 + number as u32 % 23, 18 + number as u32 % 13);
            let pixels = pixels(width, height, if number % 5 == 4 { 1 } else { 3 }, number);
            let codec = if number % 3 == 2 { Codec::Png } else { Codec::Jpeg };
            encoder.encode("x", &pixels, codec, &JpegOptions::default(), None).unwrap()
        };
        let names = (0..7).map(|class| format!("class-{class}")).collect();
        let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::label("label", names)];
        Arc::new(Self {
            facts: SourceFacts::new("memory", Schema::new(fields).unwrap(), len),
            images: (0..len.min(100)).map(image).collect(),
            entry_points: Vec::new(),
            n_classes: 7,
            broken: BTreeSet::new(),
            panicking: None,
            flaky: AtomicI64::new(0),
            latency: Duration::ZERO,
            reads: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            most_in_flight: AtomicU64::new(0),
            others: None,
        })
    }

    /// Sets the classes of the labels, with names or only numbers.
    pub(crate) fn with_classes(self: Arc<Self>, n_classes: u64, names: &[&str]) -> Arc<Self> {
        self.change(|this| {
            let names: Arc<[String]> = names.iter().map(|name| (*name).to_owned()).collect();
            let label = match names.is_empty() {
                true => FieldSpec::new("label", Kind::Int),
                false => FieldSpec::label("label", names),
            };
            let image = FieldSpec::new("image", Kind::Image);
            this.facts.schema = Schema::new(vec![image, label]).unwrap();
            this.n_classes = n_classes;
        })
    }

    /// Creates JPEGs large enough for entry points to pay off.
    pub(crate) fn large(len: u64) -> Arc<Self> {
        Self::new(len).change(|this| {
            let mut encoder = Encoder::new();
            let image = |number| {
                let pixels = pixels(300, 400, 3, number);
                encoder.encode("x", &pixels, Codec::Jpeg, &JpegOptions::default(), None).unwrap()
            };
            this.images = (0..len).map(image).collect();
        })
    }

    /// Gives each sample these values besides its image, and no other label.
    pub(crate) fn with_fields(self: Arc<Self>, others: &[(&str, Value<Encoded>)]) -> Arc<Self> {
        let kind = |value: &Value<Encoded>| match value {
            Value::Int(_) => Kind::Int,
            Value::Float(_) => Kind::Float,
            Value::Text(_) => Kind::Text,
            Value::Json(_) => Kind::Json,
            other => panic!("{other:?}"),
        };
        let field = |(name, value): &(&str, _)| FieldSpec::new(*name, kind(value));
        let fields = std::iter::once(FieldSpec::new("image", Kind::Image));
        let fields = fields.chain(others.iter().map(field)).collect();
        self.change(|this| {
            this.facts.schema = Schema::new(fields).unwrap();
            this.others = Some(others.iter().map(|(_, value)| value.clone()).collect());
        })
    }

    fn change(self: Arc<Self>, change: impl FnOnce(&mut Self)) -> Arc<Self> {
        let mut this = Arc::try_unwrap(self).unwrap_or_else(|_| panic!("still alone"));
        change(&mut this);
        Arc::new(this)
    }

    /// Truncates the images of these samples.
    pub(crate) fn broken(self: Arc<Self>, samples: &[u64]) -> Arc<Self> {
        self.change(|this| this.broken = samples.iter().copied().collect())
    }

    /// Stores the entry points of JPEGs with them.
    pub(crate) fn with_entry_points(self: Arc<Self>) -> Arc<Self> {
        self.change(|this| {
            let entry_points = |image: &Encoded| stored_entry_points(&image.bytes, 512).ok();
            this.entry_points =
                this.images.iter().map(|image| entry_points(image).map(Bytes::from)).collect();
        })
    }

    /// Makes reads of this sample panic.
    pub(crate) fn panicking(self: Arc<Self>, sample: u64) -> Arc<Self> {
        self.change(|this| this.panicking = Some(sample))
    }

    /// Makes the first reads time out.
    pub(crate) fn flaky(self: Arc<Self>, n_reads: i64) -> Arc<Self> {
        self.change(|this| this.flaky = AtomicI64::new(n_reads))
    }

    /// Makes every read take that long.
    pub(crate) fn slow(self: Arc<Self>, latency: Duration) -> Arc<Self> {
        self.change(|this| this.latency = latency)
    }

    pub(crate) fn n_reads(&self) -> u64 {
        self.reads.load(SeqCst)
    }

    /// Returns the largest number of concurrent reads.
    pub(crate) fn most_in_flight(&self) -> u64 {
        self.most_in_flight.load(SeqCst)
    }
}

impl Source for Memory {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.get(index).map(Into::into)
    }

    fn key(&self, index: u64) -> String {
        format!("sample-{index}")
    }

    fn bytes(&self, index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(Some(self.images[index as usize % self.images.len()].bytes.len() as u64))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok((u128::from(self.len()) << 64 | 7).to_le_bytes())
    }
}

impl Reader for Memory {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        self.reads.fetch_add(1, SeqCst);
        if !self.latency.is_zero() {
            let now = self.in_flight.fetch_add(1, SeqCst) + 1;
            self.most_in_flight.fetch_max(now, SeqCst);
            std::thread::sleep(self.latency);
            self.in_flight.fetch_sub(1, SeqCst);
        }
        if self.flaky.fetch_sub(1, SeqCst) > 0 {
            return Err(Error::io("read", "memory")(io::Error::from(io::ErrorKind::TimedOut)));
        }
        assert!(self.panicking != Some(index), "told to panic");
        let mut image = self.images[index as usize % self.images.len()].clone();
        if self.broken.contains(&index) {
            image.bytes = image.bytes.slice(..image.bytes.len() / 2);
        }
        let mut values = vec![Value::Image(image)];
        match &self.others {
            Some(others) => values.extend(others.iter().cloned()),
            None => values.push(Value::Int((index % self.n_classes) as i64)),
        }
        Ok(Sample { key: self.key(index), values })
    }

    fn entry_points(&self, index: u64, _field: usize) -> Result<Option<Bytes>> {
        Ok(self.entry_points.get(index as usize % self.images.len()).cloned().flatten())
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
