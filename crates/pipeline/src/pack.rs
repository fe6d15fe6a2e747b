use crate::{
    Cancel, Part, Plan, Report, checkpoints,
    checkpoints::Made,
    dataset::{Requests, complete, shard_out},
    ordered::ordered,
    tally::Tally,
};
use fdconvert_codec::{Nanos, Notes, Policy, Worker};
use fdconvert_core::{
    Codec, Create, Encoded, Error, Format, Image, Kind, Result, Sample, Shard, ShardSummary,
    ShardWriter, Skipped, Source, Value,
};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
    thread::{self, Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

/// What to do with a sample that cannot be read, decoded or stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// Stop; nothing is left behind.
    #[default]
    Fail,
    /// Leave it out, say so in the report and in the output, go on.
    Skip,
}

/// A packing run.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// Where samples come from.
    pub source: &'a dyn Source,
    /// How images are stored.
    pub policy: &'a Policy,
    /// The layout they are stored in.
    pub format: &'a dyn Format,
    /// Path of the output.
    pub out: &'a Path,
    /// Which sample goes where.
    pub plan: &'a Plan,
    /// Parameters to record beside the policy's own: format options, seed.
    pub params: &'a BTreeMap<String, String>,
    /// Worker threads; one means that reading, encoding and writing happen in turn on the caller's
    /// thread. Shards are committed beside them.
    pub threads: usize,
    /// Encoded bytes that may wait for the writer.
    pub budget_bytes: u64,
    /// What to do with bad samples.
    pub on_error: OnError,
    /// Replace an existing output.
    pub overwrite: bool,
    /// Store checkpoints of the JPEGs, where a decoder may start inside the scan, so many bits
    /// apart (512, 1024, 2048 or 4096). Not a matter of the policy: images stay what they are.
    pub jpeg_index: Option<u32>,
    /// Only these shards, for runs that share a dataset; `None` for all of them.
    pub part: Option<Part>,
}

/// Told what happens, from the writer's thread; never changes the outcome.
pub trait Observer {
    /// Work begins: this many samples are planned.
    fn begin(&mut self, _planned: u64) {}
    /// So many of them are already stored by an interrupted run.
    fn resumed(&mut self, _samples: u64) {}
    /// A sample was stored: image bytes before and after the policy.
    fn stored(&mut self, _bytes_in: u64, _bytes_stored: u64) {}
    /// A sample was left out.
    fn skipped(&mut self, _skipped: &Skipped) {}
    /// All samples of a shard are written; syncing to disk begins.
    fn committing(&mut self) {}
}

impl Observer for () {}

/// One sample after reading and the policy.
pub(crate) struct Packed {
    sample: Sample<Encoded>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_stored: u64,
    pub(crate) images: Vec<(Codec, Notes, u64, u64)>,
    pub(crate) read: Duration,
    pub(crate) nanos: Nanos,
    pub(crate) made: Made,
}

/// Packs the whole plan.
///
/// # Errors
/// `Usage` for a policy or output that cannot be, `Sample`, `Limit` or `Io` for the first bad
/// sample under [`OnError::Fail`], `Io` when writing fails, `Cancelled`. An output of one file then
/// does not exist and nothing of this run is left; of a dataset of shards those that are finished
/// stay, each with its record, and the same run goes on after them.
pub fn pack(job: &Job<'_>, cancel: &Cancel, observer: &mut dyn Observer) -> Result<Report> {
    job.policy.validate()?;
    checkpoints::check(job)?;
    if job.plan.is_empty() {
        return Err(Error::usage("source", "there is no sample to pack"));
    }
    let began = Instant::now();
    let requests = Requests::new(job)?;
    let pool = (job.threads > 1).then(|| pool(job.threads)).transpose()?;
    let mut tally = Tally::default();
    let mine = |number: usize| job.part.is_none_or(|part| part.has(number));
    let shards = job.plan.shards.iter().enumerate().filter(|(number, _)| mine(*number));
    let planned = shards.clone().map(|(_, shard)| shard.samples.end - shard.samples.start).sum();
    observer.begin(planned);
    thread::scope(|scope| {
        let mut committing = Committing::default();
        for (_, shard) in shards {
            let out = shard_out(job, shard);
            let request = Create { overwrite: job.overwrite, ..requests.of(shard, &out) };
            let began = Instant::now();
            match job.format.finished(&request)? {
                Some(summary) => {
                    tally.checked.bytes += summary.bytes;
                    tally.checked.time += began.elapsed();
                    let n_samples = shard.samples.end - shard.samples.start;
                    observer.resumed(n_samples);
                    tally.resumed += n_samples;
                    tally.shards.push((shard.clone(), summary));
                }
                None => {
                    let writer = job.format.create(&request)?;
                    let filled =
                        fill(job, shard, writer, pool.as_ref(), cancel, observer, &mut tally)?;
                    committing.wait(&mut tally)?;
                    observer.committing();
                    committing.start(scope, shard, filled);
                }
            }
        }
        committing.wait(&mut tally)
    })?;
    // Shards that were there already came in between.
    tally.shards.sort_by_key(|(shard, _)| shard.samples.start);
    if job.part.is_none() {
        let began = Instant::now();
        complete(job, &tally.shards)?;
        tally.stages.commit += began.elapsed();
    }
    let mut report = tally.into_report(job.jpeg_index.is_some());
    report.planned = planned;
    report.elapsed = began.elapsed();
    Ok(report)
}

fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let built = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("pack-{number}"))
        .build();
    built.map_err(|cause| Error::usage("--threads", cause.to_string()))
}

/// The shard before the current one, on its way to the disk: syncing waits, and the next shard
/// need not.
#[derive(Default)]
struct Committing<'scope>(Option<(Shard, ScopedJoinHandle<'scope, Result<ShardSummary>>)>);

impl<'scope> Committing<'scope> {
    fn start<'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        shard: &Shard,
        writer: Box<dyn ShardWriter>,
    ) {
        self.0 = Some((shard.clone(), scope.spawn(move || writer.finish())));
    }

    fn wait(&mut self, tally: &mut Tally) -> Result<()> {
        let Some((shard, handle)) = self.0.take() else { return Ok(()) };
        let began = Instant::now();
        let summary = handle.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        tally.stages.commit += began.elapsed();
        tally.shards.push((shard, summary));
        Ok(())
    }
}

/// Writes the samples of a shard, and gives the writer back for the commit.
fn fill(
    job: &Job<'_>,
    shard: &Shard,
    mut writer: Box<dyn ShardWriter>,
    pool: Option<&rayon::ThreadPool>,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    tally: &mut Tally,
) -> Result<Box<dyn ShardWriter>> {
    let resumed = writer.resumed();
    observer.resumed(resumed);
    let range = shard.samples.start + resumed..shard.samples.end;
    let mut position = range.start;
    let mut consume = |packed: Result<Packed>| -> Result<()> {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let began = Instant::now();
        let written = packed.and_then(|packed| {
            // A sample the writer refuses is a bad sample like any other.
            let Packed { sample, made, .. } = &packed;
            let written = match job.jpeg_index {
                Some(_) => writer.write_with(sample, &made.checkpoints),
                None => writer.write(sample),
            };
            written.map(|()| packed)
        });
        tally.stages.write += began.elapsed();
        match written {
            Ok(packed) => {
                observer.stored(packed.bytes_in, packed.bytes_stored);
                tally.add(&packed);
            }
            Err(error) if job.on_error == OnError::Skip && is_of_one_sample(&error) => {
                let key = job.source.key(job.plan.source_index(position));
                let skipped = Skipped { index: position, key, reason: error.chain() };
                observer.skipped(&skipped);
                writer.skip(skipped)?;
            }
            Err(error) => return Err(error),
        }
        position += 1;
        Ok(())
    };
    match pool {
        None => {
            let mut worker = Worker::default();
            range.into_iter().try_for_each(|i| consume(pack_one(job, i, &mut worker)))?;
        }
        Some(pool) => {
            let waits = ordered(
                pool,
                range,
                job.budget_bytes,
                Worker::default,
                |worker, i| pack_one(job, i, worker),
                |packed| packed.as_ref().map_or(0, |packed| packed.bytes_stored),
                consume,
            )?;
            tally.stages.workers_waited += waits.workers;
            tally.stages.writer_waited += waits.consumer;
        }
    }
    tally.resumed += resumed;
    Ok(writer)
}

/// Whether other samples can still be fine. A failed write is the disk's fault and ends the run:
/// errors of writers other than `Sample` are told apart by their action.
pub(crate) fn is_of_one_sample(error: &Error) -> bool {
    match error {
        Error::Sample { .. } | Error::Limit { .. } | Error::Corrupt { .. } => true,
        Error::Io { action, .. } => matches!(*action, "open" | "read" | "look at" | "map"),
        _ => false,
    }
}

/// Reads sample `index` and applies the policy. A panic in a decoder is that sample's error, not
/// the end of a run of days.
fn pack_one(job: &Job<'_>, position: u64, worker: &mut Worker) -> Result<Packed> {
    let index = job.plan.source_index(position);
    let packed = catch_unwind(AssertUnwindSafe(|| read_and_encode(job, position, worker)));
    packed.unwrap_or_else(|payload| {
        // What the panic left half-done in the worker's buffers must not reach the next sample.
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

fn read_and_encode(job: &Job<'_>, position: u64, worker: &mut Worker) -> Result<Packed> {
    if let Some(reason) = job.plan.unreadable.get(&position) {
        let key = job.source.key(job.plan.source_index(position));
        return Err(Error::sample(key, format!("unreadable when the run was planned: {reason}")));
    }
    let began = Instant::now();
    let sample = job.source.read(job.plan.source_index(position))?;
    let read = began.elapsed();
    let (mut nanos, mut images) = (Nanos::default(), Vec::with_capacity(1));
    let (mut bytes_in, mut bytes_stored) = (0, 0);
    let key = sample.key.clone();
    let mut fields = image_fields(job.source);
    let sample = sample.try_map_image(|image| {
        let kept = fields.next().is_some_and(|field| job.source.keeps_pixels(field));
        let policy = if kept { &Policy::default() } else { job.policy };
        let before = match &image {
            Image::Encoded(encoded) => encoded.bytes.len() as u64,
            Image::Pixels(pixels) => pixels.data.len() as u64,
            Image::Bilevel(image) => image.bits.len() as u64,
        };
        let form = job.plan.form(position);
        let outcome = policy.apply_as(form, &key, image, job.format, worker)?;
        let after = outcome.encoded.bytes.len() as u64;
        bytes_in += before;
        bytes_stored += after;
        nanos.decode += outcome.nanos.decode;
        nanos.resize += outcome.nanos.resize;
        nanos.encode += outcome.nanos.encode;
        images.push((outcome.encoded.codec, outcome.notes, before, after));
        Ok::<_, Error>(outcome.encoded)
    })?;
    debug_assert!(
        sample.values.iter().all(|value| !matches!(value, Value::Image(e) if e.width == 0))
    );
    let made = Made::new(&sample, job.jpeg_index);
    Ok(Packed { sample, bytes_in, bytes_stored, images, read, nanos, made })
}

/// Positions of the fields that hold images.
fn image_fields(source: &dyn Source) -> impl Iterator<Item = usize> {
    let fields = source.schema().fields.iter().enumerate();
    fields.filter(|(_, field)| field.kind == Kind::Image).map(|(position, _)| position)
}
