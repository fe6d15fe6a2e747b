//! The data of experiments: made by formulas, in every compared form.
use crate::watch::Watch;
use cpu_time::ProcessTime;
use fdconvert::{Context, Pack, PackOptions};
use fdconvert_core::{Codec, Encoded, Error, KeyedRandom, Result, Sample, Value};
use std::{
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

/// A generated dataset, and the cost of making it.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) path: PathBuf,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// Size of all its files on the disk.
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

pub(crate) struct Maker<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) threads: usize,
    pub(crate) watch: &'a Watch<'a>,
}

impl Maker<'_> {
    /// Packs a source under a name.
    ///
    /// # Errors
    /// As for packing.
    pub(crate) fn pack(&self, source: &Path, name: &str, options: PackOptions) -> Result<Made> {
        let context = Context { cancel: self.watch.cancel(), progress: &() };
        self.make(name, |out| {
            let pack = Pack::new([source], out).options(options).threads(self.threads);
            pack.prepare(context).and_then(|it| it.run(context)).map(|_| ())
        })
    }

    /// Writes the images of a formula as colour PNGs in folders by class, as the published program
    /// of FractalDB does.
    ///
    /// # Errors
    /// As for reading; `Io`.
    pub(crate) fn colour_files(&self, formula: &Path, name: &str) -> Result<Made> {
        let drawn = fdconvert::open(formula)?;
        self.make(name, |folder| {
            let next = AtomicU64::new(0);
            self.on_threads(|| {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && index < drawn.len()
                {
                    write_png(&drawn.get(index)?, folder)?;
                    self.is_to_go_on()?;
                }
                Ok(())
            })
        })
    }

    /// Writes large colour PNGs that compress to about a third, like photographs of streets.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn street_files(&self, size: (u32, u32), n: u64, name: &str) -> Result<Made> {
        self.make(name, |folder| {
            let next = AtomicU64::new(0);
            self.on_threads(|| {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && index < n
                {
                    let path = folder.join(format!("{:02}/{index:05}.png", index % 4));
                    encode_png(&path, size, &street(size, index))?;
                    self.is_to_go_on()?;
                }
                Ok(())
            })
        })
    }

    fn is_to_go_on(&self) -> Result<()> {
        if self.watch.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Runs `work` on all threads; returns the first error of any.
    fn on_threads(&self, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
        thread::scope(|scope| {
            let working: Vec<_> = (0..self.threads).map(|_| scope.spawn(&work)).collect();
            working.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
        })
    }

    fn make(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<Made> {
        self.watch.begins(&format!("making {name}"))?;
        let path = self.folder.join(name);
        let clock = |cause| Error::io("read", "the clock of the process")(cause);
        let (began, cpu) = (Instant::now(), ProcessTime::try_now().map_err(clock)?);
        make(&path)?;
        let (seconds, cpu) = (began.elapsed(), cpu.try_elapsed().map_err(clock)?);
        let (files, bytes) = extent(&path).map_err(Error::io("access", &path))?;
        let (seconds, cpu_seconds) = (seconds.as_secs_f64(), cpu.as_secs_f64());
        Ok(Made { path, seconds, cpu_seconds, bytes, files })
    }
}

/// Writes the image of a sample below a folder, under its key.
fn write_png(sample: &Sample<Encoded>, folder: &Path) -> Result<()> {
    let image = sample.values.iter().find_map(|value| match value {
        Value::Image(image) if image.codec == Codec::Raw => Some(image),
        _ => None,
    });
    let image = image.ok_or_else(|| Error::sample(&sample.key, "it has no pixels"))?;
    encode_png(&folder.join(&sample.key), (image.width, image.height), &image.bytes)
}

/// Writes RGB pixels as a new PNG file.
fn encode_png(path: &Path, (width, height): (u32, u32), rgb: &[u8]) -> Result<()> {
    let failed = |cause| Error::io("write", path)(cause);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let file = File::create_new(path).map_err(failed)?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(rgb)?;
        writer.finish()
    });
    written.map_err(|cause| failed(io::Error::other(cause)))
}

/// Draws smooth surfaces with edges and a little noise, which makes PNGs of photographs large, as
/// RGB.
fn street((width, height): (u32, u32), index: u64) -> Vec<u8> {
    let mut random = KeyedRandom::new(&[STREETS, index]);
    let waves: Vec<[f64; 4]> = (0..6)
        .map(|_| {
            [
                random.between(0.001, 0.02),
                random.between(0.001, 0.02),
                random.between(0.0, 6.3),
                random.between(8.0, 24.0),
            ]
        })
        .collect();
    let mut rgb = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        // A house at irregular distances.
        let step = f64::from((y / 96 * 37) % 64);
        for x in 0..width {
            let surface: f64 = waves
                .iter()
                .map(|[dx, dy, phase, high]| {
                    (f64::from(x) * dx + f64::from(y) * dy + phase).sin() * high
                })
                .sum();
            let block = f64::from((x / 128 * 53 + y / 96 * 29) % 48);
            let noise = random.next_u64();
            for channel in 0..3 {
                let grain = f64::from((noise >> (8 * channel)) as u8 & 7);
                let value = 90.0 + surface + step / 2.0 + block + 9.0 * f64::from(channel) + grain;
                rgb.push(value.clamp(0.0, 255.0) as u8);
            }
        }
    }
    rgb
}

/// Key of the random numbers of generated streets.
const STREETS: u64 = 0x7374_7265_6574_7300;

/// Returns the number of files at and below a path, and their bytes.
fn extent(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok((1, metadata.len()));
    }
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(path)? {
        let (more, size) = extent(&entry?.path())?;
        files += more;
        bytes += size;
    }
    Ok((files, bytes))
}
