use crate::{
    Cancel, PackJob, Report, ahead, entry_points,
    entry_points::Made,
    failure::Failure,
    finished::Finished,
    open,
    ordered::ordered,
    replacing::Replacing,
    tally::Tally,
    whole::{AsFiles, check as check_further},
};
use fdconvert_codec::{Encode, Form, Nanos, Notes, Policy, Worker, unsupported};
use fdconvert_core::{
    Bands, Codec, Encoded, Error, Format, Image, Result, Sample, Shard, ShardSummary, ShardWriter,
    Skipped, Source, Value, check_json, option, probe,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread::{self, Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

/// Receives the events of a run on the writer's thread; never changes the outcome.
pub trait Observer {
    /// Begins the work on the given number of planned samples.
    fn begin(&mut self, _planned: u64) {}
    /// Reports the number of samples that an interrupted run has stored already.
    fn resumed(&mut self, _samples: u64) {}
    /// Reports a stored sample: image bytes before and after the policy.
    fn stored(&mut self, _bytes_in: u64, _bytes_stored: u64) {}
    /// Reports a skipped sample.
    fn skipped(&mut self, _skipped: &Skipped) {}
    /// Reports that all samples of a shard are written, and its sync to disk begins.
    fn committing(&mut self) {}
}

impl Observer for () {}

/// A sample after reading and the policy.
pub(crate) struct Packed {
    pub(crate) sample: Sample<Encoded>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_stored: u64,
    pub(crate) images: Vec<(Codec, Notes, u64, u64)>,
    /// Why the first image of an unsupported kind cannot be decoded.
    pub(crate) not_decoded: Option<String>,
    pub(crate) bands: Option<Bands>,
    pub(crate) read: Duration,
    pub(crate) nanos: Nanos,
    pub(crate) made: Made,
}

/// Packs the whole plan.
///
/// # Errors
/// `Usage` for an invalid policy or output; `Sample`, `Limit` or `Io` for the first bad sample
/// under [`OnError::Fail`](crate::OnError::Fail); `Io` if writing fails; `Cancelled`. An output of
/// one file then does not exist and nothing of this run remains (of a large one in a store: the
/// uploaded parts, with which the same run continues); of a dataset of shards the finished ones
/// remain, each with its record, and the same run continues after them.
pub fn pack(job: &PackJob, cancel: &Cancel, observer: &mut dyn Observer) -> Result<Report> {
    check(job)?;
    open::check_run(job)?;
    let began = Instant::now();
    let run = &job.run;
    if run.overwrite {
        refuse_leftovers(job)?;
    }
    let identity = job.identity()?;
    let pool = pool(run.n_threads()?)?;
    let mut tally = Tally::default();
    let mine = |number: usize| run.part.is_none_or(|part| part.has(number));
    let shards = job.plan.shards.iter().enumerate().filter(|(number, _)| mine(*number));
    let shards: Vec<&Shard> = shards.map(|(_, shard)| shard).collect();
    let planned = shards.iter().map(|shard| shard.samples.end - shard.samples.start).sum();
    observer.begin(if job.source.facts().is_open() { 0 } else { planned });
    let filling = Filling { job, pool: pool.as_ref(), cancel, budget_bytes: run.budget_bytes()? };
    let replacing = Replacing::begin(job, &identity)?;
    thread::scope(|scope| {
        let mut committing = Committing::default();
        let mut finished = Finished::new(job, &identity, run.overwrite);
        for (at, &shard) in shards.iter().enumerate() {
            let began = Instant::now();
            let left = shards.get(at..).unwrap_or_default();
            let part = match if replacing.resumes() { finished.next(left)? } else { None } {
                Some(summary) => {
                    let part = open::finished_part(job, shard, &summary)?;
                    tally.checked.bytes += summary.bytes;
                    tally.checked.time += began.elapsed();
                    let n_samples = part.samples.end - part.samples.start;
                    observer.resumed(n_samples);
                    tally.resumed += n_samples;
                    tally.failures.resumed(n_samples);
                    tally.shards.push((part.clone(), summary));
                    part
                }
                None => {
                    let out = job.shard_out(shard);
                    let request = job.request(&identity, shard, &out, run.overwrite);
                    let writer = job.format.create(&request)?;
                    let (filled, empty) = filling.fill(shard, writer, observer, &mut tally)?;
                    committing.wait(&mut tally)?;
                    let part = open::filled_part(job, shard);
                    if let Some(skipped) = &empty
                        && job.plan.shards.len() == 1
                    {
                        return Err(no_sample(skipped.first()));
                    }
                    if let Some(skipped) = empty.filter(|_| !job.format.is_sharded()) {
                        // Like a shard without samples, it does not exist.
                        drop(filled);
                        if out.exists() {
                            return Err(Error::exists("output", &out));
                        }
                        let (samples, bytes, path) = (0, 0, out);
                        let summary = ShardSummary { path, samples, bytes, skipped };
                        tally.shards.push((part, summary));
                        continue;
                    }
                    if part.samples.is_empty() {
                        break;
                    }
                    observer.committing();
                    let replacing = &replacing;
                    committing.start(scope, &part, move || {
                        replacing.withdraw()?;
                        filled.finish()
                    });
                    part
                }
            };
            if part.samples.end < shard.samples.end {
                break;
            }
        }
        committing.wait(&mut tally)
    })?;
    open::check_end(job)?;
    // Shards that existed already were added out of order.
    tally.shards.sort_by_key(|(shard, _)| shard.samples.start);
    if run.part.is_none() {
        let began = Instant::now();
        job.complete(&tally.shards)?;
        tally.stages.commit += began.elapsed();
    }
    let mut report = tally.into_report(job.jpeg_index.is_some());
    report.planned = job.source.end().unwrap_or(planned);
    report.elapsed = began.elapsed();
    Ok(report)
}

/// Refuses to overwrite a dataset if more remains of it than this run replaces. This check comes
/// before any change, because a run deletes only its own files.
fn refuse_leftovers(job: &PackJob) -> Result<()> {
    let leftovers = job.format.leftovers(&job.out, &job.plan.shards)?;
    let Some(first) = leftovers.first() else { return Ok(()) };
    let what = format!(
        "{} has {} of another run that this one would not replace, {} among them; nothing was \
         changed: remove the folder's shards, or name another folder",
        job.out.display(),
        shards(leftovers.len()),
        first.strip_prefix(&job.out).unwrap_or(first).display()
    );
    Err(Error::usage("output", what))
}

fn shards(n: usize) -> String {
    if n == 1 { "1 shard".to_owned() } else { format!("{n} shards") }
}

/// Refuses jobs that cannot be packed at all.
fn check(job: &PackJob) -> Result<()> {
    job.policy.validate()?;
    entry_points::check(job)?;
    if job.plan.is_empty() {
        return Err(Error::usage("source", "no sample was written"));
    }
    Ok(())
}

/// Returns the workers, if there are more threads than the caller's.
fn pool(threads: usize) -> Result<Option<rayon::ThreadPool>> {
    if threads < 2 {
        return Ok(None);
    }
    let built = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("pack-{number}"))
        .build();
    built.map(Some).map_err(|cause| Error::usage(option::THREADS, cause.to_string()))
}

/// The previous shard on its way to the disk: syncing takes time, and the next shard need not wait.
#[derive(Default)]
struct Committing<'scope>(Option<(Shard, ScopedJoinHandle<'scope, Result<ShardSummary>>)>);

impl<'scope> Committing<'scope> {
    /// Commits a shard in parallel with the next one.
    fn start<'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        shard: &Shard,
        commit: impl FnOnce() -> Result<ShardSummary> + Send + 'scope,
    ) {
        self.0 = Some((shard.clone(), scope.spawn(commit)));
    }

    /// Waits for the commit, if there is one.
    fn wait(&mut self, tally: &mut Tally) -> Result<()> {
        let Some((shard, handle)) = self.0.take() else { return Ok(()) };
        let began = Instant::now();
        let summary = handle.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        tally.stages.commit += began.elapsed();
        tally.shards.push((shard, summary));
        Ok(())
    }
}

/// The writer of a filled shard, and the skipped samples if all were skipped.
type Filled = (Box<dyn ShardWriter>, Option<Vec<Skipped>>);

/// Returns the error for a dataset without samples, with the reason of the first skipped one.
pub(crate) fn no_sample(first: Option<&Skipped>) -> Error {
    let what = "none of its samples could be packed, and a dataset has at least one";
    let of_first = first.map(|Skipped { key, reason, .. }| {
        reason.clone().reworded(|reason| format!("{what}; of the first, `{key}`: {reason}"))
    });
    Error::usage("source", of_first.unwrap_or_else(|| what.into()))
}

struct Filling<'a> {
    job: &'a PackJob,
    pool: Option<&'a rayon::ThreadPool>,
    cancel: &'a Cancel,
    budget_bytes: u64,
}

impl Filling<'_> {
    /// Writes the samples of a shard, and returns the writer for the commit.
    fn fill(
        &self,
        shard: &Shard,
        mut writer: Box<dyn ShardWriter>,
        observer: &mut dyn Observer,
        tally: &mut Tally,
    ) -> Result<Filled> {
        let job = self.job;
        let (mut n_written, mut left_out) = (0, Vec::new());
        let resumed = writer.resumed();
        observer.resumed(resumed);
        tally.failures.resumed(resumed);
        let range = shard.samples.start + resumed..shard.samples.end;
        let ahead = ahead::window(job, range.clone());
        let first = range.start;
        let pack = |worker: &mut Worker, position: u64| {
            let Some(ahead) = &ahead else { return pack_one(job, position, worker) };
            ahead.before(position - first);
            let packed = pack_one(job, position, worker);
            ahead.after(position - first);
            packed
        };
        let mut position = range.start;
        let mut has_ended = false;
        let mut consume = |packed: Result<Packed>| -> Result<()> {
            if self.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if packed.is_err() && open::has_ended(job, position) {
                // This is not an error; it stops the workers.
                has_ended = true;
                return Err(Error::Cancelled);
            }
            let began = Instant::now();
            let written = packed.map_err(Failure::of_reading).and_then(|packed| {
                writer.write(&packed.sample).map(|()| packed).map_err(Failure::of_writing)
            });
            tally.stages.write += began.elapsed();
            match written {
                Ok(packed) => {
                    observer.stored(packed.bytes_in, packed.bytes_stored);
                    n_written += 1;
                    left_out.clear();
                    tally.add(&packed);
                }
                Err(failure) => {
                    let key = job.source.key(job.plan.source_index(position));
                    let reason = tally.failures.admit(failure, &key, &job.run)?;
                    let skipped = Skipped { index: position, key, reason };
                    observer.skipped(&skipped);
                    if n_written == 0 {
                        left_out.push(skipped.clone());
                    }
                    writer.skip(skipped)?;
                }
            }
            position += 1;
            Ok(())
        };
        let packed = match self.pool {
            None => {
                let mut worker = Worker::default();
                let mut range = range.into_iter();
                range.try_for_each(|i| consume(pack(&mut worker, i))).map(|()| None)
            }
            Some(pool) => {
                let waits = ordered(
                    pool,
                    range,
                    self.budget_bytes,
                    Worker::default,
                    pack,
                    |packed| packed.as_ref().map_or(0, |packed| packed.bytes_stored),
                    consume,
                );
                waits.map(Some)
            }
        };
        match packed {
            Ok(None) => {}
            Ok(Some(waits)) => {
                tally.stages.workers_waited += waits.workers;
                tally.stages.writer_waited += waits.consumer;
            }
            Err(Error::Cancelled) if has_ended => open::check_resumed(job, first)?,
            Err(error) => return Err(error),
        }
        tally.resumed += resumed + writer.found();
        let is_empty = n_written == 0 && resumed == 0;
        Ok((writer, is_empty.then_some(left_out)))
    }
}

/// Reads sample `index` and applies the policy. A panic in a decoder is an error of that sample,
/// not the end of a run of days.
fn pack_one(job: &PackJob, position: u64, worker: &mut Worker) -> Result<Packed> {
    let index = job.plan.source_index(position);
    let packed = catch_unwind(AssertUnwindSafe(|| read_and_encode(job, position, worker)));
    packed.unwrap_or_else(|payload| {
        // Half-changed buffers of the worker must not reach the next sample.
        *worker = Worker::default();
        let text = payload
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        let what = format!("internal error, please report it with this image: {text}");
        Err(Error::sample(job.source.key(index), what))
    })
}

fn read_and_encode(job: &PackJob, position: u64, worker: &mut Worker) -> Result<Packed> {
    if let Some(reason) = job.plan.unreadable.get(&position) {
        let key = job.source.key(job.plan.source_index(position));
        let unreadable = "unreadable when the samples were listed";
        let why = reason.clone().map(|why| why.reworded(|why| format!("{unreadable}: {why}")));
        return Err(Error::sample(key, why.unwrap_or_else(|| unreadable.into())));
    }
    let began = Instant::now();
    let sample = job.source.read(job.plan.source_index(position))?;
    let read = began.elapsed();
    check_documents(&*job.source, &sample)?;
    let (mut nanos, mut images) = (Nanos::default(), Vec::with_capacity(1));
    let (mut bytes_in, mut bytes_stored) = (0, 0);
    let (mut not_decoded, mut bands) = (None, None);
    let key = sample.key.clone();
    let (whole, as_files) = (&job.plan.common.whole_images, AsFiles(&*job.format));
    let becomes_pixels = job.format.capabilities().whole_images;
    // Labels keep their pixels, and lose the same metadata as other images.
    let of_labels = Policy { strip: job.policy.strip, ..Policy::default() };
    // Choices of raw pixels are about formats of pixels: in a list they would not say their size.
    let in_lists = match job.policy.encode {
        Encode::Raw | Encode::Smart { .. } | Encode::Mix { .. } => Encode::Keep,
        encode => encode,
    };
    let of_lists = Policy { encode: in_lists, mixture: None, ..job.policy.clone() };
    let mut encode = |field: usize, is_in_list: bool, image: Image| {
        let kept = job.source.facts().field(field).keeps_pixels;
        // Images in lists are files in all formats.
        let is_whole = is_in_list || whole.contains(&field);
        if becomes_pixels && !is_whole {
            check_further(job.source.schema(), field, &key, &image)?;
        }
        let format = if is_whole { &as_files as &dyn Format } else { &*job.format };
        let policy = match (kept, is_in_list) {
            (true, _) => &of_labels,
            (false, true) => &of_lists,
            (false, false) => &job.policy,
        };
        let before = image.n_bytes() as u64;
        let form = if is_in_list { Form::Encoded } else { job.plan.form(position) };
        let outcome = policy.apply_as(form, &key, image, format, worker)?;
        let after = outcome.encoded.bytes.len() as u64;
        bytes_in += before;
        bytes_stored += after;
        nanos.decode += outcome.nanos.decode;
        nanos.resize += outcome.nanos.resize;
        nanos.encode += outcome.nanos.encode;
        if outcome.notes.contains(Notes::NOT_DECODED) && not_decoded.is_none() {
            not_decoded = unsupported(&outcome.encoded.bytes);
        }
        if outcome.notes.contains(Notes::BANDS_KEPT) && bands.is_none() {
            let bytes = &outcome.encoded.bytes;
            bands = probe::probe(bytes).ok().and_then(|header| probe::bands_only(bytes, &header));
        }
        images.push((outcome.encoded.codec, outcome.notes, before, after));
        Ok::<_, Error>(outcome.encoded)
    };
    let mut values = Vec::with_capacity(sample.values.len());
    for (field, value) in sample.values.into_iter().enumerate() {
        let is_in_list = matches!(value, Value::Images(_));
        values.push(value.try_map_image(|image| encode(field, is_in_list, image))?);
    }
    debug_assert!(values.iter().flat_map(Value::images).all(|image| image.width > 0));
    let mut sample = Sample { key, values };
    let made = Made::of(&mut sample, job.jpeg_index);
    Ok(Packed { sample, bytes_in, bytes_stored, images, not_decoded, bands, read, nanos, made })
}

/// Checks that fields of JSON contain JSON: readers of the output rely on it.
fn check_documents(source: &dyn Source, sample: &Sample<Image>) -> Result<()> {
    for (field, value) in source.schema().fields.iter().zip(&sample.values) {
        let Value::Json(text) = value else { continue };
        check_json(text).map_err(|what| {
            Error::sample(&sample.key, format!("field `{}` {what}", field.name))
                .cure("to leave the sample out", option::ON_ERROR.with("skip"))
                .cure("to leave the field out", option::DROP_FIELDS.with(&field.name))
        })?;
    }
    Ok(())
}
