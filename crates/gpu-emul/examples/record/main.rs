//! Measures the benefit of fdconvert-gpu on the GPU of this machine: one command, one page of
//! Markdown.
//!
//! ```sh
//! cargo run --release -p fdconvert-gpu-emul --example record -- [FOLDER OF JPEGS] [--out FILE]
//! ```
//!
//! First the pixels of every image are compared with libjpeg-turbo's, then kernels and whole
//! batches are timed, in rounds over all cases in turn, and compared with libjpeg-turbo on all
//! cores. Fractals are compared and timed against the CPU likewise, as bitmaps and as rows of the
//! loader with and without augmentation, and nvJPEG decodes the same images if it is installed. The
//! run ends within `--seconds`. On a machine without a GPU it reports what is missing, which is not
//! a failure.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement for people")]

mod check;
mod fractals;
mod images;
mod measure;
mod nvjpeg;
mod report;
mod rival;
mod rows;
mod settings;

use check::Checked;
use clap::Parser;
use fdconvert_gpu::{Decoder, Device, Driver, Gpu, GpuError, Limits, NvJpeg};
use report::Report;
pub(crate) use settings::Settings;
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let settings = Settings::parse();
    let report = run(&settings);
    println!("{}", report.text);
    if let Some(out) = &settings.out
        && let Err(error) = std::fs::write(out, &report.text)
    {
        eprintln!("error: cannot write {}: {error}", out.display());
        return ExitCode::FAILURE;
    }
    if report.is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs all parts. Results before a failure are kept.
pub(crate) fn run(settings: &Settings) -> Report {
    let mut report = Report::default();
    match open(settings) {
        Ok(opened) => {
            if let Err(error) = on_gpu(settings, opened, &mut report) {
                report.failed(&*error);
            }
        }
        Err(error) => report.not_run(&error),
    }
    report
}

/// A GPU, and the time it took to open it.
struct Opened {
    gpu: Gpu,
    version: i32,
    devices: Vec<Device>,
    seconds: f64,
}

fn open(settings: &Settings) -> std::result::Result<Opened, GpuError> {
    let driver = Driver::load(settings.driver.as_deref())?;
    let began = Instant::now();
    let gpu = Gpu::open(&driver, settings.device)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Opened { gpu, version: driver.version(), devices: driver.devices()?, seconds })
}

fn on_gpu(settings: &Settings, opened: Opened, report: &mut Report) -> Result<()> {
    let began = Instant::now();
    let budget = Duration::from_secs(settings.seconds);
    let by = |share: f64| began + budget.mul_f64(share);
    report.machine(&opened.devices, opened.version, opened.seconds);
    // A folder may have more images than time allows: each part leaves time for the next.
    let sets = images::load(settings, by(0.3))?;
    report.sets(&sets);
    let mut decoder = Decoder::new(&opened.gpu, Limits::DEFAULT)?;
    let checked: Vec<Checked> = check::all(&mut decoder, &sets, by(0.5))?;
    report.checked(&checked);
    let measured = measure::all(&opened.gpu, &mut decoder, &sets, settings, by(0.6), by(0.8))?;
    report.measured(&measured);
    report.drawn(&fractals::all(&opened.gpu, settings, by(0.85))?);
    report.rows(&rows::all(&opened.gpu, settings, by(0.89))?);
    // Last, because nvJPEG may crash: the other results are then already written.
    if let Some(out) = &settings.out {
        std::fs::write(out, &report.text)?;
    }
    match NvJpeg::load(settings.nvjpeg.as_deref()) {
        Ok(library) => {
            report.nvjpeg(&nvjpeg::all(&opened.gpu, &library, &sets, settings, by(0.97))?);
        }
        Err(error) => report.no_nvjpeg(&error),
    }
    Ok(())
}
