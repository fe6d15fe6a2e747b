//! Samples with equal images, within and across datasets.
//!
//! Images are equal if their stored bytes are: those with the same checksum are compared byte by
//! byte. With the option `near`, images with the same visible content are equal, too. They are
//! found in three steps:
//!
//! 1. Each image is decoded at an eighth of its size, or as small as possible with at least 32 rows
//!    and columns: for a JPEG these are the averages of its blocks, so that no block is
//!    transformed. Its luma, averaged to 32 x 32 levels, gets a hash of 64 bits: the signs of its
//!    lowest frequencies against their median (the construction known as pHash).
//! 2. Hashes that differ in a few bits at most are found by an index over four parts of them,
//!    without comparing all with all.
//! 3. The levels of those candidates are computed again and compared, averaged to 16 x 16: a hash
//!    alone matches too many different images.
mod exact;
mod groups;
mod hash;
mod keep;
mod near;
mod pairs;
mod scan;

pub(crate) use exact::count as count_exact;
pub use groups::{Group, Member};

use crate::{
    ByteCount, Context,
    document::document,
    options::{from_object, setters},
    sources::opening,
    stats::{check_place, write},
};
use fdconvert_core::{Error, Limits, Reader, Remark, Result, SplitChoice, option};
use fdconvert_pipeline::threads;
use scan::Scan;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{path::PathBuf, time::Instant};

/// Default limit on the bits in which hashes of the same image differ: the largest for which no
/// band may differ in two bits.
const DISTANCE: u32 = 7;

/// Options for finding equal images: the criterion and the output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DuplicatesOptions {
    /// Whether to find images with the same content, too: re-encoded or resized.
    pub near: bool,
    /// With `near`: number of bits of 64 in which the hashes of two images may differ, 0 to 15.
    pub distance: u32,
    /// File for the keys of the samples to keep: all but the later ones of each group.
    pub keys: Option<PathBuf>,
    /// Whether to replace an existing file.
    pub overwrite: bool,
    /// Limit on the pixels of a decoded image; larger images are refused.
    pub max_pixels: u64,
    /// Number of worker threads; `None` for one per core. The result does not depend on it.
    pub threads: Option<usize>,
    /// Limit on the decompressed bytes of compressed shards; `None` for 4 GiB, and 100 times their
    /// size.
    pub max_decompressed: Option<ByteCount>,
    /// Splits to read.
    pub split: SplitChoice,
}

impl Default for DuplicatesOptions {
    fn default() -> Self {
        Self {
            near: false,
            distance: DISTANCE,
            keys: None,
            overwrite: false,
            max_pixels: Limits::DEFAULT.max_pixels,
            threads: None,
            max_decompressed: None,
            split: SplitChoice::All,
        }
    }
}

impl DuplicatesOptions {
    setters! {
        keys: Option<PathBuf>,
        threads: Option<usize>,
        max_decompressed: Option<ByteCount>,
        ;
        near: bool,
        distance: u32,
        overwrite: bool,
        max_pixels: u64,
        split: SplitChoice,
    }

    /// Parses options from a JSON object with the names of the fields.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(object: Map<String, Json>) -> Result<Self> {
        from_object(object)
    }
}

/// Result of the search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Duplicates {
    /// Number of samples in each dataset.
    pub samples: Vec<u64>,
    /// Groups of samples with equal images, in the order of their first samples.
    pub groups: Vec<Group>,
    /// Number of images without detail, such as a single colour: with `near` they are compared by
    /// their bytes alone.
    pub flat: u64,
    /// Samples that cannot be read or decoded: dataset, number, key, and reason; the first 100,000.
    pub unreadable: Vec<(usize, u64, String, Remark)>,
    /// Number of further ones.
    pub unreadable_left_out: u64,
    /// Number of written keys.
    pub kept_keys: Option<u64>,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Finds samples with equal first images, within and across the datasets. Duplicates are a result,
/// not an error; unreadable samples are listed.
///
/// Takes 17 bytes of memory per sample while they are read, some 70 while pairs of hashes are
/// searched, and half a KiB for each sample with a hash near another's.
///
/// # Errors
/// The errors of [`open`](crate::open); `Usage` without a dataset or images, and if a file of keys
/// exists or keys are ambiguous; `Io` if it cannot be written; `Cancelled`.
pub fn find_duplicates(
    datasets: &[PathBuf],
    options: &DuplicatesOptions,
    context: Context<'_>,
) -> Result<Duplicates> {
    let began = Instant::now();
    if options.distance > pairs::MAX_DISTANCE {
        let what = format!("{} is not from 0 to {}", options.distance, pairs::MAX_DISTANCE);
        return Err(Error::usage("distance", what));
    }
    check_place("keys", options.keys.as_deref(), b"", options.overwrite)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(options.threads)?).build();
    let pool = pool.map_err(|cause| Error::usage(option::THREADS, cause.to_string()))?;
    let how = opening(options.max_decompressed, &options.split);
    let open = |path: &PathBuf| fdconvert_reader::open_with(path, &how);
    let readers: Vec<Box<dyn Reader>> = datasets.iter().map(open).collect::<Result<_>>()?;
    let readers: Vec<&dyn Reader> = readers.iter().map(|reader| &**reader).collect();
    let folders = datasets.iter().map(fdconvert_reader::is_image_folder).collect::<Result<_>>()?;
    let set = Datasets::new(&readers, folders)?;
    let mut found = pool.install(|| {
        if options.keys.is_some() {
            keep::check(&set)?;
        }
        find(&set, options, context)
    })?;
    if let Some(file) = &options.keys {
        let (text, n_keys) = keep::list(&set, &found.groups);
        write("keys", file, text.as_bytes(), options.overwrite)?;
        found.kept_keys = Some(n_keys);
    }
    found.seconds = began.elapsed().as_secs_f64();
    Ok(found)
}

fn find(
    set: &Datasets<'_>,
    options: &DuplicatesOptions,
    context: Context<'_>,
) -> Result<Duplicates> {
    let limits = Limits { max_pixels: options.max_pixels, ..Limits::DEFAULT };
    let mut scan = Scan::of(set, options.near, &limits, context)?;
    let exact = exact::links(set, &mut scan, context)?;
    let near = match options.near {
        true => near::links(set, &mut scan, &exact, (options.distance, &limits), context)?,
        false => Vec::new(),
    };
    let groups = groups::grouped(set, &scan, &exact, &near);
    let flat = scan.n_flat();
    let (unreadable, unreadable_left_out) = scan.into_unreadable();
    let unreadable = unreadable.into_iter().map(|(id, why)| {
        let (dataset, index) = set.place(id);
        (dataset, index, set.key(id), why)
    });
    Ok(Duplicates {
        samples: set.readers.iter().map(|reader| reader.len()).collect(),
        groups,
        flat,
        unreadable: unreadable.collect(),
        unreadable_left_out,
        kept_keys: None,
        seconds: 0.0,
    })
}

/// All samples of some datasets, numbered one dataset after the other.
struct Datasets<'a> {
    readers: Vec<&'a dyn Reader>,
    /// Number of the first sample of each dataset, and the end.
    starts: Vec<u64>,
    /// True for folders of files, which may have splits as folders.
    folders: Vec<bool>,
}

impl<'a> Datasets<'a> {
    fn new(readers: &[&'a dyn Reader], folders: Vec<bool>) -> Result<Self> {
        if readers.is_empty() {
            return Err(Error::usage("dataset", "name at least one"));
        }
        let mut starts = vec![0_u64];
        let mut end = 0_u64;
        for reader in readers {
            if reader.schema().first_image().is_none() {
                return Err(Error::usage("dataset", "there is one whose samples have no images"));
            }
            end = end.saturating_add(reader.len());
            starts.push(end);
        }
        // Tables of places have 32 bits for each.
        if u32::try_from(end).is_err() {
            let what = format!("{end} samples are more than this takes: {}", u32::MAX);
            return Err(Error::usage("dataset", what));
        }
        Ok(Self { readers: readers.to_vec(), starts, folders })
    }

    fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the dataset of a sample and its number there.
    fn place(&self, id: u32) -> (usize, u64) {
        let id = u64::from(id);
        // The last one that begins at `id` or before: empty datasets begin at the start of the next
        // one.
        let dataset = self.starts.partition_point(|start| *start <= id).saturating_sub(1);
        (dataset, id - self.starts.get(dataset).copied().unwrap_or(0))
    }

    fn reader(&self, dataset: usize) -> Option<&'a dyn Reader> {
        self.readers.get(dataset).copied()
    }

    fn key(&self, id: u32) -> String {
        let (dataset, index) = self.place(id);
        self.reader(dataset).map_or_else(String::new, |reader| reader.key(index))
    }
}

impl Duplicates {
    /// Returns the number of redundant samples: all but the first of each group.
    #[must_use]
    pub fn surplus(&self) -> u64 {
        self.groups.iter().map(|group| group.samples.len() as u64 - 1).sum()
    }

    /// Returns the number of pairs of equal samples in different splits or datasets.
    #[must_use]
    pub fn leaks(&self) -> u64 {
        self.groups.iter().map(Group::leaks).sum()
    }

    /// Returns the result as the JSON document of `--json`.
    #[must_use]
    pub fn document(&self, datasets: &[PathBuf], options: &DuplicatesOptions) -> Json {
        let paths = datasets.iter().map(|path| path.display().to_string());
        let unreadable = self.unreadable.iter().map(|(dataset, index, key, why)| {
            json!({"dataset": dataset, "index": index, "key": key, "error": why})
        });
        let mut fields = Map::new();
        fields.insert("datasets".into(), paths.collect());
        fields.insert("samples".into(), json!(self.samples));
        fields.insert("near".into(), json!(options.near));
        fields.insert("distance".into(), json!(options.near.then_some(options.distance)));
        fields.insert("groups".into(), self.groups.iter().map(Group::to_json).collect());
        fields.insert("surplus".into(), json!(self.surplus()));
        fields.insert("leaks".into(), json!(self.leaks()));
        fields.insert("flat".into(), json!(self.flat));
        fields.insert("unreadable".into(), unreadable.collect());
        fields.insert("unreadable_left_out".into(), json!(self.unreadable_left_out));
        fields.insert("kept_keys".into(), json!(self.kept_keys));
        fields.insert("seconds".into(), json!(self.seconds));
        document("duplicates", fields)
    }
}
