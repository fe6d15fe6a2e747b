//! One sample: read, checked, decoded and written into its row.

use super::queue::Task;
use crate::{
    dataset::{Datasets, Fetched},
    failure::{OnError, Quarantine, SUBSTITUTES, backoff, may_pass},
    groups::{Groups, Located},
    options::Options,
    order::Place,
    parcel::{Content, Elsewhere, Kept, Parcel, Taken},
    stats::{Counters, Stage},
    supply::{Request, Samples, Supply},
    transform::{Area, Geometry, Key, Region as Decoded, Renderer, scale_for},
};
use fdconvert_codec::{Decoder, Region, Wanted, orient, orientation};
use fdconvert_core::{Encoded, Error, Pixels, Result};
use fdconvert_storage::sigbus;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

/// The smallest unit in which a memory map is read.
const PAGE_BYTES: usize = 4096;

/// What all threads know of an epoch.
pub(crate) struct Epoch {
    pub(crate) datasets: Datasets,
    pub(crate) groups: Arc<Groups>,
    pub(crate) supply: Arc<Supply>,
    /// Its samples, and how many there are.
    pub(crate) samples: Box<dyn Samples>,
    pub(crate) n_samples: u64,
    pub(crate) number: u64,
    /// Failures that end it.
    pub(crate) max_failures: u64,
    pub(crate) counters: Arc<Counters>,
    /// Who decodes some of the images, if it is not done here.
    pub(crate) elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Nobody waits for its batches any more.
    pub(crate) stopped: AtomicBool,
}

/// What a thread needs to make rows.
pub(crate) struct Worker {
    decoder: Decoder,
    renderer: Renderer,
    pixels: Vec<u8>,
}

/// What a row turned out to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowFacts {
    pub(crate) sample: u64,
    pub(crate) label: i64,
    pub(crate) filled: bool,
    pub(crate) substituted: bool,
}

impl Epoch {
    fn locate(&self, place: Place) -> Located {
        self.groups.locate(&self.datasets, place)
    }

    /// The sample at a place as a decoder elsewhere keeps it.
    fn kept(&self, place: Place) -> Option<Kept> {
        let sample = self.datasets.number(self.locate(place));
        self.elsewhere.as_ref()?.kept(sample)
    }
}

impl Worker {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        Ok(Self {
            decoder: Decoder::new(),
            renderer: Renderer::new(options.output, options.augment)?,
            pixels: Vec::new(),
        })
    }
}

/// The sample at a place, from memory or from storage.
///
/// # Errors
/// Those of the reader.
fn fetch(epoch: &Epoch, options: &Options, place: Place, drawn_at: Option<u64>) -> Result<Fetched> {
    let began = Instant::now();
    let counters = &epoch.counters;
    let read = |place| read(epoch, options, place);
    let stopped = &epoch.stopped;
    let fetched = epoch.samples.fetch(Request { place, drawn_at, counters, stopped, read: &read });
    if let Ok(fetched) = &fetched {
        counters.fetched(fetched.image.bytes.len() as u64);
    }
    counters.spent(Stage::Fetch, began.elapsed());
    fetched
}

/// Reads the sample at a place from storage, again if it may help.
fn read(epoch: &Epoch, options: &Options, place: Place) -> Result<Fetched> {
    let located = epoch.locate(place);
    let mut tries = 0;
    loop {
        let read =
            || epoch.supply.store.read(&epoch.datasets, located, &epoch.counters, &epoch.stopped);
        match guarded(epoch, located, read) {
            Err(error) if may_pass(&error) && tries < options.failures.retries => {
                if epoch.stopped.load(Ordering::Relaxed) {
                    break Err(Error::Cancelled);
                }
                epoch.counters.retried();
                thread::sleep(backoff(tries));
                tries += 1;
            }
            other => break other,
        }
    }
}

/// Reads the sample at a position, for the row that draws it or for one that fills up a batch.
/// `None` where nothing needs to be read, and beyond the epoch's end, which cannot be.
pub(crate) fn fetch_at(
    epoch: &Epoch,
    options: &Options,
    position: u64,
    draws: bool,
) -> Option<Result<Fetched>> {
    let place = epoch.samples.at(position)?;
    if epoch.kept(place).is_some() {
        return None;
    }
    let fetched = fetch(epoch, options, place, draws.then_some(position));
    let fetched = fetched.and_then(|fetched| {
        // Of a memory map nothing is read before it is looked at, and that is what this thread
        // is for.
        let look = || {
            let pages = fetched.image.bytes.iter().step_by(PAGE_BYTES);
            std::hint::black_box(pages.fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
            Ok(())
        };
        if fetched.is_owned { look() } else { sigbus::caught(look) }.map(|()| fetched)
    });
    Some(fetched)
}

/// Fills the row of a sample, or leaves it to a decoder elsewhere as the task's parcel, or does with
/// it what the policy says.
///
/// # Errors
/// Under [`OnError::Raise`] those of the sample, else when there are too many failures or nothing
/// can take the sample's place.
pub(crate) fn fill_row(
    epoch: &Epoch,
    options: &Options,
    quarantine: Option<&Quarantine>,
    worker: &mut Worker,
    task: &mut Task,
) -> Result<RowFacts> {
    let n_samples = epoch.n_samples;
    let Task { position, draws, again, .. } = *task;
    // What reading it gave, if it was read already.
    let mut first = task.fetched.take();
    let row = &mut task.buffer[..];
    let mut last_error = None;
    for tried in 0..=SUBSTITUTES.min(n_samples.saturating_sub(1)) {
        let place = place(epoch, (position + tried) % n_samples.max(1))?;
        let located = epoch.locate(place);
        let sample = epoch.datasets.number(located);
        let given = first.take();
        if quarantine.is_some_and(|quarantine| quarantine.holds(sample)) {
            continue;
        }
        let kept = epoch.kept(place).filter(|_| !again && given.is_none());
        let drawn_at = (draws && tried == 0 && !again).then_some(position);
        let made = match kept {
            Some(kept) => {
                let label = kept.label;
                let size = (kept.stored.width(), kept.stored.height());
                let geometry = geometry(epoch, options, sample, size);
                Ok((label, Some(Parcel { content: Content::Kept(kept), geometry })))
            }
            None => {
                let fetched = given.unwrap_or_else(|| fetch(epoch, options, place, drawn_at));
                fetched.and_then(|mut fetched| {
                    loop {
                        let (label, is_owned) = (fetched.label, fetched.is_owned);
                        let make =
                            || make_row(epoch, options, worker, (sample, again), fetched, row);
                        let make = || guarded(epoch, located, make);
                        let made = if is_owned { Some(make()) } else { sigbus::caught_once(make) };
                        match made {
                            Some(made) => break made.map(|parcel| (label, parcel)),
                            // Another sample could not be read meanwhile, so that this one may
                            // have been zeros. It is read again: from now on as a copy.
                            None => fetched = read(epoch, options, place)?,
                        }
                    }
                })
            }
        };
        let error = match made {
            Ok((label, parcel)) => {
                // What is left to another decoder counts when that has done it.
                if parcel.is_none() {
                    epoch.counters.sample(place.stratum);
                }
                task.parcel = parcel;
                let substituted = tried > 0;
                if substituted {
                    epoch.counters.substituted();
                }
                return Ok(RowFacts { sample, label, filled: true, substituted });
            }
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(error) => error,
        };
        let n_failures = epoch.counters.failed();
        let key = || epoch.datasets.key(located);
        match &options.failures.policy {
            OnError::Raise => {
                let dataset = epoch.datasets.name(located.dataset);
                return Err(named(error, &dataset, sample, &key()));
            }
            _ if n_failures > epoch.max_failures => {
                let what = format!(
                    "{n_failures} samples failed in epoch {}, more than {} are not borne; the last: {}",
                    epoch.number,
                    epoch.max_failures,
                    error.chain()
                );
                return Err(Error::sample(key(), what));
            }
            OnError::Skip => {
                row.fill(0);
                return Ok(RowFacts { sample, label: 0, filled: false, substituted: false });
            }
            OnError::Substitute => {}
            OnError::Quarantine(_) => {
                if let Some(quarantine) = quarantine {
                    quarantine.add(sample, &key(), &error)?;
                }
            }
        }
        last_error = Some(error);
    }
    let cause = last_error.map_or_else(|| "all are in quarantine".into(), |error| error.chain());
    let what = format!("neither it nor the {SUBSTITUTES} samples after it can be read: {cause}");
    let place = place(epoch, position)?;
    Err(Error::sample(epoch.datasets.key(epoch.locate(place)), what))
}

fn place(epoch: &Epoch, position: u64) -> Result<Place> {
    epoch.samples.at(position).ok_or_else(|| {
        let what = format!("{position} of {} in the epoch", epoch.n_samples);
        Error::usage("position", what)
    })
}

/// Writes the row, unless a decoder elsewhere takes the image, and it is not made `again`.
fn make_row(
    epoch: &Epoch,
    options: &Options,
    worker: &mut Worker,
    (sample, again): (u64, bool),
    fetched: Fetched,
    row: &mut [u8],
) -> Result<Option<Parcel>> {
    let Fetched { image, checkpoints, .. } = &fetched;
    // What a photo is turned by is not known elsewhere.
    let is_turned = options.orient && orientation(image) > 1;
    let elsewhere = epoch.elsewhere.as_ref().filter(|_| !again && !is_turned);
    let prepared = match elsewhere.map(|it| it.takes(image, checkpoints.as_ref())) {
        None | Some(Taken::No) => {
            return write_row(epoch, options, worker, sample, &fetched, row).map(|()| None);
        }
        Some(Taken::Prepared(prepared)) => Some(prepared),
        Some(Taken::AsItIs) => None,
    };
    let geometry = geometry(epoch, options, sample, (image.width, image.height));
    Ok(Some(Parcel { content: Content::Read(fetched, prepared), geometry }))
}

/// Which part of an image of that size the row shows.
fn geometry(epoch: &Epoch, options: &Options, sample: u64, size: (u32, u32)) -> Geometry {
    let key = Key { seed: options.seed, epoch: epoch.number, sample };
    Geometry::of(options.crop, options.flip, options.output.size, size, key)
}

/// Decodes as much of the image as is needed and writes the row.
fn write_row(
    epoch: &Epoch,
    options: &Options,
    worker: &mut Worker,
    sample: u64,
    fetched: &Fetched,
    row: &mut [u8],
) -> Result<()> {
    let Fetched { key: name, image, checkpoints, .. } = fetched;
    let began = Instant::now();
    let key = Key { seed: options.seed, epoch: epoch.number, sample };
    let geometry = |size| geometry(epoch, options, sample, size);
    let Worker { decoder, renderer, pixels } = worker;
    let turned = if options.orient { orientation(image) } else { 1 };
    let (area, channels, denominator, geometry) = if turned > 1 {
        // Turned as a whole: rare, and simpler than turning rectangles.
        let (width, height) = upright(name, image, options, decoder, pixels, turned)?;
        let channels = pixels.len() / (width as usize * height as usize).max(1);
        (Area { x: 0, y: 0, width, height }, channels as u8, 1, geometry((width, height)))
    } else {
        let geometry = geometry((image.width, image.height));
        let Area { x, y, width, height } = geometry.needed;
        let shrink = scale_for(geometry.rect, options.output.size) as u8;
        let region = Region { x, y, width, height };
        let wanted = Wanted { region, shrink, checkpoints: checkpoints.as_deref() };
        let part = decoder.decode_part_with(name, image, &options.limits, &wanted, pixels)?;
        let Region { x, y, width, height } = part.region;
        let area = Area { x, y, width, height };
        (area, part.channels, u32::from(part.shrink), geometry)
    };
    let channels = drop_alpha(channels, pixels);
    let decoded = Instant::now();
    epoch.counters.spent(Stage::Decode, decoded - began);
    let region = Decoded { pixels, area, channels, denominator };
    renderer.render(name, &region, &geometry, key, row)?;
    epoch.counters.spent(Stage::Render, decoded.elapsed());
    Ok(())
}

/// Decodes all of an image into the buffer, turns it, and returns its size.
fn upright(
    name: &str,
    image: &Encoded,
    options: &Options,
    decoder: &mut Decoder,
    pixels: &mut Vec<u8>,
    orientation: u8,
) -> Result<(u32, u32)> {
    let (header, channels, _) = decoder.decode_into(name, image, &options.limits, pixels)?;
    let data = std::mem::take(pixels);
    let whole = Pixels { width: header.width, height: header.height, channels, data };
    let whole = orient(whole, orientation);
    let size = (whole.width, whole.height);
    *pixels = whole.data;
    Ok(size)
}

/// Drops the alpha channel, as Pillow's `convert("RGB")` does; returns the channels that are left.
fn drop_alpha(channels: u8, pixels: &mut Vec<u8>) -> u8 {
    if channels != 4 {
        return channels;
    }
    let n_pixels = pixels.len() / 4;
    for pixel in 0..n_pixels {
        pixels.copy_within(pixel * 4..pixel * 4 + 3, pixel * 3);
    }
    pixels.truncate(n_pixels * 3);
    3
}

/// Runs work on a sample; a panic in it is an error of the sample.
fn guarded<T>(epoch: &Epoch, located: Located, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a thread keeps between samples are buffers, which the next sample overwrites, and
    // decoders, which are made anew after they were taken for work.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let key = epoch.datasets.key(located);
        Err(Error::sample(key, format!("a panic, which is a bug: {}", message(&*panic))))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// The error with dataset, number and key of the sample, for whoever has to look for it.
fn named(error: Error, dataset: &str, sample: u64, key: &str) -> Error {
    let who = format!("(number {sample} of {dataset})");
    match error {
        Error::Sample { what, .. } => Error::sample(key, format!("{who} {what}")),
        // What the system says keeps its kind: it is no fault of the data.
        Error::Io { .. } | Error::Cancelled => error,
        other => Error::sample(key, format!("{who} {}", other.chain())),
    }
}
