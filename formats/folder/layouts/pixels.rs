//! Images that are not files: records of pixels and labels, as MNIST and CIFAR are published.
use super::{cifar, mnist};
use crate::folder::Folder;
use bytes::Bytes;
use fdconvert_core::{
    Amount, Error, FieldSpec, Image, Kind, Look, Pixels, Result, Sample, Schema, Source,
    SourceFacts, Value, option, split_ranges,
};
use xxhash_rust::xxh3::Xxh3Default;

/// Digits of the number in a key.
const DIGITS: usize = 5;

/// Width and height, and how their pixels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) size: [u32; 2],
    pub(super) order: Order,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// A byte for each pixel, row by row.
    Gray,
    /// All red bytes, then all green ones, then all blue ones.
    Planes,
}

/// Records of one length in a file, from `start` on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Records {
    pub(super) bytes: Bytes,
    pub(super) start: usize,
    pub(super) record_bytes: usize,
}

/// The images of a file, and their labels. There are `n_samples` of all, by construction.
#[derive(Debug, PartialEq)]
pub(super) struct Run {
    pub(super) split: &'static str,
    pub(super) n_samples: usize,
    pub(super) images: Records,
    /// A byte for each label field.
    pub(super) labels: Vec<Records>,
}

/// An open dataset of pixels.
pub(super) struct PixelReader {
    pub(super) facts: SourceFacts,
    shape: Shape,
    runs: Vec<Run>,
    fingerprint: [u8; 16],
}

/// A file of pixels in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PixelFile {
    /// The images of MNIST: `idx3`.
    Idx,
    /// The binary version of CIFAR-10.
    Cifar10,
    /// The binary version of CIFAR-100.
    Cifar100,
}

impl PixelFile {
    /// Reads all images in a file of these bytes.
    ///
    /// # Errors
    /// `Usage` when its length is not the one that it claims, or it is no such file.
    pub fn images(self, bytes: &[u8]) -> Result<Vec<Pixels>> {
        let bytes = Bytes::copy_from_slice(bytes);
        let read = match self {
            Self::Idx => mnist::images(&bytes),
            Self::Cifar10 => {
                cifar::records(bytes, 1).map(|(n, _, images)| (cifar::SHAPE, n, images))
            }
            Self::Cifar100 => {
                cifar::records(bytes, 2).map(|(n, _, images)| (cifar::SHAPE, n, images))
            }
        };
        let (shape, n, images) = read.map_err(|what| Error::usage("source", what))?;
        let pixels = (0..n).map(|at| shape.pixels(&images, at));
        let pixels: Option<Vec<Pixels>> = pixels.collect();
        pixels.ok_or_else(|| Error::usage("source", "it ends inside an image"))
    }
}

impl Shape {
    /// Bytes of an image.
    pub(super) fn n_bytes(self) -> usize {
        let [width, height] = self.size.map(|side| usize::try_from(side).unwrap_or(usize::MAX));
        let channels = if self.order == Order::Gray { 1 } else { 3 };
        width.saturating_mul(height).saturating_mul(channels)
    }

    fn pixels(self, images: &Records, at: usize) -> Option<Pixels> {
        let stored = images.get(at, self.n_bytes())?;
        let ([width, height], channels) =
            (self.size, if self.order == Order::Gray { 1 } else { 3 });
        let data = match self.order {
            Order::Gray => stored.to_vec(),
            Order::Planes => {
                let n_pixels = stored.len() / 3;
                let (red, rest) = stored.split_at_checked(n_pixels)?;
                let (green, blue) = rest.split_at_checked(n_pixels)?;
                let pixels = red.iter().zip(green).zip(blue);
                pixels.flat_map(|((red, green), blue)| [*red, *green, *blue]).collect()
            }
        };
        Some(Pixels { width, height, channels, data })
    }
}

impl Records {
    /// The first bytes of a record.
    fn get(&self, at: usize, n_bytes: usize) -> Option<&[u8]> {
        let start = self.start.checked_add(at.checked_mul(self.record_bytes)?)?;
        self.bytes.get(start..start.checked_add(n_bytes)?)
    }
}

impl PixelReader {
    /// `labels` are the fields of labels, one for each in all runs.
    pub(super) fn new(
        shape: Shape,
        labels: Vec<FieldSpec>,
        runs: Vec<Run>,
        how: &Folder,
    ) -> Result<Self> {
        if !how.beside.is_empty() {
            let what = "the images are not files, and have none next to them; leave it out";
            return Err(Error::usage(option::BESIDE, what));
        }
        let mut hash = Xxh3Default::new();
        for field in &labels {
            hash.update(field.name.as_bytes());
            for name in field.class_names.iter().flat_map(|names| names.iter()) {
                hash.update(name.as_bytes());
                hash.update(&[0]);
            }
        }
        for run in &runs {
            hash.update(run.split.as_bytes());
            hash.update(&(run.n_samples as u64).to_le_bytes());
            hash.update(&run.images.bytes);
            run.labels.iter().for_each(|labels| hash.update(&labels.bytes));
        }
        let mut fields = vec![FieldSpec::new("image", Kind::Image)];
        fields.extend(labels);
        let n_samples = runs.iter().map(|run| run.n_samples as u64).sum();
        let mut facts = SourceFacts::new("pixels", Schema::new(fields)?, n_samples);
        facts.fields.iter_mut().skip(1).for_each(|field| field.is_known = true);
        if how.split_folders {
            facts.splits = split_ranges(runs.iter().map(|run| (run.split, run.n_samples as u64)));
        }
        Ok(Self { facts, shape, runs, fingerprint: hash.digest128().to_le_bytes() })
    }

    /// The run of a sample, and its place there.
    fn place(&self, index: u64) -> Option<(&Run, usize)> {
        let mut at = usize::try_from(index).ok()?;
        for run in &self.runs {
            if at < run.n_samples {
                return Some((run, at));
            }
            at -= run.n_samples;
        }
        None
    }

    fn label_of(&self, index: u64, field: usize) -> Option<i64> {
        let (run, at) = self.place(index)?;
        let labels = run.labels.get(field.checked_sub(1)?)?;
        labels.get(at, 1)?.first().map(|label| i64::from(*label))
    }
}

impl Source for PixelReader {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let missing = || {
            let what = format!("sample {index} of {} does not exist", self.len());
            Error::usage("index", what)
        };
        let (run, at) = self.place(index).ok_or_else(missing)?;
        let key = self.key(index);
        let ends = || Error::sample(&key, "its file ends before it");
        let mut values =
            vec![Value::Image(Image::Pixels(self.shape.pixels(&run.images, at).ok_or_else(ends)?))];
        for field in 1..self.schema().fields.len() {
            let label = self.label_of(index, field).ok_or_else(ends)?;
            let names = self.schema().fields.get(field).and_then(|it| it.class_names.as_ref());
            if names.is_some_and(|names| usize::try_from(label).is_ok_and(|it| it >= names.len())) {
                return Err(Error::sample(key, format!("its label {label} is not one of a class")));
            }
            values.push(Value::Int(label));
        }
        Ok(Sample { key, values })
    }

    fn key(&self, index: u64) -> String {
        // Files of one split follow each other.
        let before = |split: &str, run: &Run| {
            let of_split = self.runs.iter().take_while(|it| !std::ptr::eq(*it, run));
            of_split.filter(|it| it.split == split).map(|it| it.n_samples).sum::<usize>()
        };
        match self.place(index) {
            Some((run, at)) => format!("{}/{:0DIGITS$}", run.split, before(run.split, run) + at),
            None => format!("#{index}"),
        }
    }

    fn fingerprint(&self, _: Look) -> Result<[u8; 16]> {
        Ok(self.fingerprint)
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        Ok(self.label_of(index, field).map(Value::Int))
    }

    fn bytes(&self, _: u64, amount: Amount) -> Result<Option<u64>> {
        Ok((amount == Amount::Announced).then_some(self.shape.n_bytes() as u64))
    }

    fn image_size(&self, _: u64) -> Result<Option<(u32, u32)>> {
        let [width, height] = self.shape.size;
        Ok(Some((width, height)))
    }
}
