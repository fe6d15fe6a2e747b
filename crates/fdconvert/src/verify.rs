//! Checks a dataset for damage.
use crate::{
    ByteCount, Context, Stage,
    chunk::Chunk,
    document::document,
    options::{from_object, setters},
    replaced::AsOpened,
    sources::opening,
};
use fdconvert_codec::{Decoder, Region, unsupported};
use fdconvert_core::{
    Class, Codec, Encoded, Error, Limits, Reader, Remark, Result, Sample, SplitChoice, Value,
    check_json, option,
    probe::{bands_only, probe},
};
use fdconvert_jpeg::{grid_of, stored_entry_points};
use fdconvert_pipeline::threads;
use fdconvert_reader::OpenOptions;
use rayon::{ThreadPool, prelude::*};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{path::Path, time::Instant};

/// Options for a check.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Whether to decode every image and recompute the entry points of JPEGs.
    pub deep: bool,
    /// Limit on the pixels of a decoded image; larger images are refused.
    pub max_pixels: u64,
    /// Number of worker threads; `None` for one per core.
    pub threads: Option<usize>,
    /// Limit on the decompressed bytes of compressed shards; `None` for 4 GiB, and 100 times their
    /// size.
    pub max_decompressed: Option<ByteCount>,
    /// Splits to read.
    pub split: SplitChoice,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            deep: false,
            max_pixels: Limits::DEFAULT.max_pixels,
            threads: None,
            max_decompressed: None,
            split: SplitChoice::All,
        }
    }
}

impl VerifyOptions {
    setters! {
        threads: Option<usize>,
        max_decompressed: Option<ByteCount>,
        ;
        deep: bool,
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

/// Problem of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Number and key of the sample, for a problem of one sample.
    pub sample: Option<(u64, String)>,
    /// Error, with file, place and cause.
    pub error: Remark,
    /// Whether something is damaged; if not, a sound image is of a kind that is not decoded.
    pub is_damage: bool,
}

impl Problem {
    fn damage(sample: Option<(u64, String)>, error: &Error) -> Self {
        Self { sample, error: error.remark(), is_damage: true }
    }
}

/// Limit on the listed problems, here and in comparisons of datasets or images: a damaged table can
/// have one for every sample that it claims.
pub(crate) const MAX_PROBLEMS: usize = 100_000;

/// Result of a check.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verified {
    /// Number of checked samples.
    pub samples: u64,
    /// Whether there are images with pixels to check.
    pub has_images: bool,
    /// Whether every sample has checksums.
    pub has_checksums: bool,
    /// Whether it is a folder of files, which has no checksums.
    pub is_plain_folder: bool,
    /// Problems, in order: the first 100,000.
    pub problems: Vec<Problem>,
    /// Number of further problems.
    pub problems_left_out: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Checks a dataset for damage. Damage is a result, not an error.
///
/// # Errors
/// `Io` for a missing dataset; `Usage` for something else than a dataset, and if a run that writes
/// the dataset may have caused the problems; `Cancelled`.
pub fn verify(dataset: &Path, options: &VerifyOptions, context: Context<'_>) -> Result<Verified> {
    let began = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(options.threads)?).build();
    let pool = pool.map_err(|cause| Error::usage(option::THREADS, cause.to_string()))?;
    let how = opening(options.max_decompressed, &options.split);
    let opened = AsOpened::look(dataset);
    let found = look(dataset, &how, options, &pool, context);
    let is_sound = found.as_ref().is_ok_and(|found| found.problems.is_empty());
    if !is_sound && !matches!(found, Err(Error::Cancelled)) {
        opened.refuse_to_judge().map_or(Ok(()), Err)?;
    }
    Ok(Verified { seconds: began.elapsed().as_secs_f64(), ..found? })
}

fn look(
    dataset: &Path,
    how: &OpenOptions,
    options: &VerifyOptions,
    pool: &ThreadPool,
    context: Context<'_>,
) -> Result<Verified> {
    match fdconvert_reader::open_with(dataset, how) {
        Ok(reader) => {
            let mut found = Verified {
                samples: reader.len(),
                has_images: reader.schema().shown_images().is_some(),
                has_checksums: reader.has_checksums(),
                is_plain_folder: fdconvert_reader::is_image_folder(dataset)?,
                problems: Vec::new(),
                problems_left_out: 0,
                seconds: 0.0,
            };
            pool.install(|| check(&*reader, options, context, &mut found))?;
            Ok(found)
        }
        // Intact, but not supported by this build.
        Err(error @ Error::Unsupported { .. }) => Err(error),
        // An existing file that cannot be read as a dataset is damage.
        Err(error) if error.class() == Class::Data => Ok(Verified {
            samples: 0,
            has_images: true,
            has_checksums: false,
            is_plain_folder: false,
            problems: vec![Problem::damage(None, &error)],
            problems_left_out: 0,
            seconds: 0.0,
        }),
        Err(error) => Err(error),
    }
}

impl Verified {
    fn add(&mut self, problems: impl IntoIterator<Item = Problem>) {
        let mut problems = problems.into_iter();
        let n_free = MAX_PROBLEMS.saturating_sub(self.problems.len());
        self.problems.extend(problems.by_ref().take(n_free));
        self.problems_left_out += problems.count() as u64;
    }

    /// Returns the result as the JSON document of `--json`.
    #[must_use]
    pub fn document(&self, dataset: &Path, options: &VerifyOptions) -> Json {
        let problems = self.problems.iter().map(|problem| match &problem.sample {
            Some((index, key)) => {
                let (error, damage) = (&problem.error, problem.is_damage);
                json!({"index": index, "key": key, "error": error, "damage": damage})
            }
            None => json!({"error": problem.error, "damage": problem.is_damage}),
        });
        let mut fields = Map::new();
        fields.insert("dataset".into(), json!(dataset.display().to_string()));
        fields.insert("samples".into(), json!(self.samples));
        fields.insert("deep".into(), json!(options.deep));
        fields.insert("has_images".into(), json!(self.has_images));
        fields.insert("sample_checksums".into(), json!(self.has_checksums));
        fields.insert("problems".into(), problems.collect());
        fields.insert("problems_left_out".into(), json!(self.problems_left_out));
        fields.insert("seconds".into(), json!(self.seconds));
        document("verify", fields)
    }
}

fn check(
    reader: &dyn Reader,
    options: &VerifyOptions,
    context: Context<'_>,
    verified: &mut Verified,
) -> Result<()> {
    let layout = reader.verify_layout();
    verified.add(layout.iter().map(|error| Problem::damage(None, error)));
    let limits = Limits { max_pixels: options.max_pixels, ..Limits::DEFAULT };
    let steps = context.progress.stage(Stage::Verifying);
    steps.total(reader.len());
    let mut chunk = Chunk::of(reader, 0);
    while !chunk.samples.is_empty() {
        // Fetched while this one is checked.
        let next = Chunk::of(reader, chunk.samples.end);
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let samples = chunk.samples.clone();
        let found: Vec<Problem> = samples
            .into_par_iter()
            .map_init(Decoder::default, |decoder, index| {
                let checked = check_sample(reader, index, options.deep, &limits, decoder);
                steps.step();
                let Fault { error, is_damage } = checked.err()?;
                let sample = Some((index, reader.key(index)));
                Some(Problem { is_damage, ..Problem::damage(sample, &error) })
            })
            .flatten()
            .collect();
        verified.add(found);
        chunk = next;
    }
    Ok(())
}

/// Why a sample does not pass.
struct Fault {
    error: Error,
    is_damage: bool,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { error, is_damage: true }
    }
}

fn check_sample(
    reader: &dyn Reader,
    index: u64,
    deep: bool,
    limits: &Limits,
    decoder: &mut Decoder,
) -> Result<(), Fault> {
    reader.verify_sample(index)?;
    if !deep {
        return Ok(());
    }
    let sample = reader.get(index)?;
    let (mut not_decoded, mut values) = (None, Vec::new());
    for (field, value) in reader.schema().fields.iter().zip(&sample.values) {
        for image in value.images() {
            if are_bands(image) {
                let whole = Region { x: 0, y: 0, width: image.width, height: image.height };
                decoder.decode_bands(&sample.key, image, limits, whole, &mut values)?;
                continue;
            }
            match decoder.decode(&sample.key, image, limits) {
                Err(error) if image.codec != Codec::Raw && unsupported(&image.bytes).is_some() => {
                    // Damage of another field matters more.
                    not_decoded = Some(Fault { error, is_damage: false });
                }
                decoded => drop(decoded?),
            }
        }
        if let Value::Json(text) = value {
            check_json(text).map_err(|what| {
                Error::sample(&sample.key, format!("field `{}` {what}", field.name))
            })?;
        }
    }
    check_jpeg_index(reader, index, &sample)?;
    not_decoded.map_or(Ok(()), Err)
}

/// Returns true for bands that are not an 8-bit picture.
fn are_bands(image: &Encoded) -> bool {
    image.codec == Codec::Tiff
        && probe(&image.bytes).is_ok_and(|header| bands_only(&image.bytes, &header).is_some())
}

/// Checks that the stored entry points of a sample's JPEGs equal recomputed ones.
fn check_jpeg_index(reader: &dyn Reader, index: u64, sample: &Sample<Encoded>) -> Result<()> {
    for (field, value) in sample.values.iter().enumerate() {
        let Value::Image(image) = value else { continue };
        let Some(stored) = reader.entry_points(index, field)? else { continue };
        let bad = |what: String| Err(Error::sample(&sample.key, what));
        let Some(grid_bits) = stored.first().copied().and_then(grid_of) else {
            return bad("its entry points are of a version that this build does not know".into());
        };
        match stored_entry_points(&image.bytes, grid_bits) {
            Ok(made) if made == stored => {}
            Ok(_) => return bad("its entry points are not those of its JPEG".into()),
            Err(refused) => return bad(format!("it has entry points, but {refused}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_without_end_are_counted() {
        let mut found = Verified {
            samples: 0,
            has_images: true,
            has_checksums: false,
            is_plain_folder: false,
            problems: Vec::new(),
            problems_left_out: 0,
            seconds: 0.0,
        };
        let problem = || Problem { sample: None, error: Remark::default(), is_damage: true };
        found.add(std::iter::repeat_with(problem).take(MAX_PROBLEMS - 1));
        found.add(std::iter::repeat_with(problem).take(4));
        assert_eq!((found.problems.len(), found.problems_left_out), (MAX_PROBLEMS, 3));
    }
}
