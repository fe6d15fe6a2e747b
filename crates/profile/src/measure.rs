use crate::{Cost, Sampled, Stored, sample};
use cpu_time::ThreadTime;
use fdconvert_codec::{Decoder, JpegOptions};
use fdconvert_core::{Codec, Error, Limits, Result, Source};
use serde::{Deserialize, Serialize};
use std::{io, sync::RwLock, thread};

/// Settings for measuring formats.
#[derive(Debug, Clone, Copy)]
pub struct Measuring {
    /// Number of images to measure, if there are as many.
    pub samples: u64,
    /// Number of decoding threads in training. Decoding is measured on one and on all of them at
    /// the same time, which shows how much they slow each other down.
    pub threads: usize,
    /// Number of passes over all images. The median counts.
    pub passes: usize,
    /// Seed of the choice of images.
    pub seed: u64,
    /// Limits on decoded images.
    pub limits: Limits,
    /// Options for writing JPEG, for images that become JPEG.
    pub jpeg: JpegOptions,
    /// Limit of the stored images in memory, over all formats; sampling ends there.
    pub max_kept_bytes: u64,
}

/// Cost of one format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormatCost {
    /// Codec of the format.
    pub codec: Codec,
    /// Bytes per image, and CPU seconds per image on one thread.
    pub cost: Cost,
    /// CPU seconds per image with all threads decoding.
    pub cpu_seconds_all_threads: f64,
    /// Number of cores that the threads are worth: their number times the cost on one over that on
    /// all.
    pub effective_cores: f64,
    /// Number of images that the format cannot hold without loss, which would stay as they are.
    pub n_cannot_hold: u64,
    /// Reason for the first of them.
    pub first_reason: Option<String>,
}

/// Result of measuring formats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Costs of the formats, in the requested order.
    pub formats: Vec<FormatCost>,
    /// Number of images that every format can hold. All costs are means over these.
    pub n_images: u64,
    /// Number of images that could not be read or decoded.
    pub n_unreadable: u64,
    /// True if sampling ended because the kept images filled their memory.
    pub memory_was_full: bool,
    /// Number of threads in the measurement with all of them.
    pub threads: usize,
}

impl Default for Measuring {
    fn default() -> Self {
        Self {
            samples: 256,
            threads: thread::available_parallelism().map_or(1, usize::from),
            passes: 5,
            seed: 0,
            limits: Limits::DEFAULT,
            jpeg: JpegOptions::default(),
            max_kept_bytes: 1 << 30,
        }
    }
}

impl Measured {
    /// Returns the effective cores of the machine over all formats, each weighted by its CPU time:
    /// raw images only copy memory, and how that scales matters as little as it costs.
    #[must_use]
    pub fn effective_cores(&self) -> f64 {
        let sum = |of: &dyn Fn(&FormatCost) -> f64| self.formats.iter().map(of).sum::<f64>();
        let one = sum(&|format| format.cost.cpu_seconds_per_image);
        let all = sum(&|format| format.cpu_seconds_all_threads);
        effective(self.threads, one, all)
    }
}

/// Measures stored bytes and decode time of sampled images in every format: [`sample`], then
/// [`time_formats`].
///
/// # Errors
/// As for these two.
pub fn measure_formats(
    source: &dyn Source,
    formats: &[Codec],
    options: &Measuring,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Measured> {
    time_formats(&sample(source, formats, options, cancelled)?, options, cancelled)
}

/// Measures stored bytes and decode time of images in every format.
///
/// Images are in memory, so only decoding is timed, in CPU time of the thread, which other programs
/// on the machine disturb less than wall time. Decoding goes into a reused buffer, as in a loader.
///
/// # Errors
/// `Usage` when there is nothing to measure; `Cancelled` when `cancelled` is set; `Sample` for an
/// image that cannot be decoded after all.
pub fn time_formats(
    sampled: &Sampled,
    options: &Measuring,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Measured> {
    let Sampled { formats, images, refused, .. } = sampled;
    if images.is_empty() || formats.is_empty() {
        let reason = refused.iter().find_map(|(_, reason)| reason.as_deref());
        let reason = reason.unwrap_or("none could be read");
        let what = format!("there is no image to measure in all of the formats: {reason}");
        return Err(Error::usage("profile", what));
    }

    let clock = Clock { images, limits: options.limits, cancelled };
    let threads = options.threads.max(1);
    let passes = options.passes.max(1);
    let mut one = vec![Vec::new(); formats.len()];
    let mut all = vec![Vec::new(); formats.len()];
    // Formats take turns, so that a temporary disturbance of the machine affects all of them.
    for _ in 0..passes {
        for format in 0..formats.len() {
            one[format].push(clock.on_threads(format, 1)?);
            all[format].push(clock.on_threads(format, threads)?);
        }
    }

    let n = images.len() as f64;
    let cost_of = |(position, codec): (usize, &Codec)| {
        let bytes: u64 = images.iter().map(|image| image.forms[position].bytes.len() as u64).sum();
        let (on_one, on_all) = (median(&mut one[position]), median(&mut all[position]));
        let (n_cannot_hold, first_reason) = refused[position].clone();
        FormatCost {
            codec: *codec,
            cost: Cost { bytes_per_image: bytes as f64 / n, cpu_seconds_per_image: on_one },
            cpu_seconds_all_threads: on_all,
            effective_cores: effective(threads, on_one, on_all),
            n_cannot_hold,
            first_reason,
        }
    };
    let formats = formats.iter().enumerate().map(cost_of).collect();
    Ok(Measured {
        formats,
        n_images: images.len() as u64,
        n_unreadable: sampled.n_unreadable,
        memory_was_full: sampled.memory_was_full,
        threads,
    })
}

struct Clock<'a> {
    images: &'a [Stored],
    limits: Limits,
    cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl Clock<'_> {
    /// Returns CPU seconds per image when `threads` threads decode all images at the same time.
    /// Every thread decodes each image, starting at a different one, so that all of them are busy
    /// to the end.
    fn on_threads(&self, format: usize, threads: usize) -> Result<f64> {
        // Locked until all threads have started.
        let gate = &RwLock::new(());
        let seconds = thread::scope(|scope| -> Result<f64> {
            let closed = gate.write();
            let mut running = Vec::new();
            let mut refused = None;
            for thread_idx in 0..threads {
                let first = self.images.len() * thread_idx / threads;
                let run = move || self.decode_all(format, first, gate);
                match thread::Builder::new().spawn_scoped(scope, run) {
                    Ok(handle) => running.push(handle),
                    Err(error) => refused = Some(error),
                }
            }
            drop(closed);
            let mut seconds = 0.0;
            for handle in running {
                let joined = handle.join();
                seconds +=
                    joined.map_err(|_| machine("end", io::Error::other("it panicked")))??;
            }
            match refused {
                Some(error) => Err(machine("start", error)),
                None => Ok(seconds),
            }
        })?;
        Ok(seconds / (threads * self.images.len()) as f64)
    }

    /// Returns CPU seconds to decode every image once.
    fn decode_all(&self, format: usize, first: usize, gate: &RwLock<()>) -> Result<f64> {
        let mut decoder = Decoder::new();
        let mut pixels = Vec::new();
        let mut decode = |image: &Stored| {
            decoder.decode_into(&image.key, &image.forms[format], &self.limits, &mut pixels)
        };
        // The largest image first and unmeasured, to allocate handles and memory.
        let area = |image: &&Stored| {
            image.forms.first().map_or(0, |form| u64::from(form.width) * u64::from(form.height))
        };
        if let Some(largest) = self.images.iter().max_by_key(area) {
            decode(largest)?;
        }
        drop(gate.read());

        let start = ThreadTime::try_now().map_err(|error| machine("time", error))?;
        let (before, after) = self.images.split_at(first);
        for image in after.iter().chain(before) {
            if (self.cancelled)() {
                return Err(Error::Cancelled);
            }
            decode(image)?;
        }
        let elapsed = start.try_elapsed().map_err(|error| machine("time", error))?;
        Ok(elapsed.as_secs_f64())
    }
}

fn machine(action: &'static str, source: io::Error) -> Error {
    Error::Io { action, path: "a decoding thread".into(), source }
}

/// At most the number of threads: anything above is noise.
fn effective(threads: usize, on_one: f64, on_all: f64) -> f64 {
    let threads = threads as f64;
    if on_one > 0.0 && on_all > on_one { threads * on_one / on_all } else { threads }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
