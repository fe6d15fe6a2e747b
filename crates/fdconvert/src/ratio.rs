//! The option `ratio`: a number, or a source of one before anything is planned.
use crate::{
    Context, Event, PackOptions,
    options::{Encoding, Ratio},
    out::Destination,
    profile::{self, ProfileOptions},
};
use fdconvert_codec::By;
use fdconvert_core::{Codec, Error, Result, Source, option};
use fdconvert_pipeline::Balance;
use fdconvert_profile::{Machine, Model, Report};
use fdconvert_storage::{
    place::{self, is_url},
    read_file,
};
use serde::{Deserialize, Serialize};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Settled value of the option.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settled {
    /// Share of the images, if they are drawn at random.
    pub(crate) share: f64,
    /// Balance from a profile, for [`By::Benefit`], which needs fewer images to balance reading and
    /// decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) balance: Option<Balance>,
}

/// Path at which a run leaves its profile, so that a resumed run does not profile again and get
/// another number.
const COPY: &str = ".fdconvert/profile.json";
const MAX_PROFILE_BYTES: u64 = 64 << 20;

impl Settled {
    /// Returns the recorded parameter of the measurement, by name.
    pub(crate) fn param(&self) -> Option<(String, String)> {
        let Balance { read_bytes_per_s, threads, cache_bytes, encoded_seconds, bmp_seconds } =
            self.balance?;
        let measured = [read_bytes_per_s, threads, cache_bytes, encoded_seconds, bmp_seconds];
        let numbers = measured.map(|number| number.to_string()).join(",");
        Some(("ratio-balance".to_owned(), numbers))
    }
}

/// The value of the option as far as it is known before a source is open.
pub(crate) enum Given {
    Share(f64),
    Profile(Report),
    /// A profile that an interrupted run left, and its path.
    Kept(Report, PathBuf),
    /// Must be measured.
    Unknown,
}

/// Reads the value or the file of the option.
pub(crate) fn read(options: &PackOptions, to: Option<Destination<'_>>) -> Result<Option<Given>> {
    Ok(Some(match &options.ratio {
        None => return Ok(None),
        Some(Ratio::Share(share)) => Given::Share(share.get()),
        Some(Ratio::Profile(path)) => Given::Profile(read_profile(path)?),
        Some(Ratio::Auto) => {
            let overwrite = to.is_some_and(|to| to.run.overwrite);
            let copy = written(to).map(|out| out.join(COPY));
            match copy.filter(|copy| !overwrite && place::is_file(copy)) {
                Some(copy) => Given::Kept(read_profile(&copy)?, copy),
                None if written(to).is_some_and(is_url) => {
                    let what = "the disk of OUT is what it measures, and OUT is in a store: give a \
                                number, or a profile of the machines that will train";
                    return Err(Error::usage(option::RATIO, what));
                }
                None => Given::Unknown,
            }
        }
    }))
}

/// Returns the output dataset; `None` on a dry run, which leaves nothing there.
fn written(to: Option<Destination<'_>>) -> Option<&Path> {
    to.filter(|to| !to.is_dry).map(|to| to.out)
}

impl Given {
    /// Returns the number for the option, measured over the source if needed.
    pub(crate) fn settle(
        self,
        options: &PackOptions,
        source: &dyn Source,
        to: Option<Destination<'_>>,
        context: Context<'_>,
    ) -> Result<Settled> {
        let tell = |profile, kept| context.progress.event(Event::Profiled { profile, kept });
        let report = match self {
            Self::Share(share) => return Ok(Settled { share, balance: None }),
            Self::Profile(report) => report,
            Self::Kept(report, copy) => {
                tell(&report, Some(&copy));
                report
            }
            Self::Unknown => {
                let out = written(to);
                let report = quick(options, source, out, context)?;
                if let Some(out) = out {
                    leave(&report, &out.join(COPY))?;
                }
                tell(&report, None);
                report
            }
        };
        let share = report.solution.chosen.share;
        let Machine { read_bytes_per_s, effective_cores, cache_bytes, .. } = report.machine;
        let balance = Balance {
            read_bytes_per_s,
            threads: effective_cores,
            cache_bytes,
            encoded_seconds: report.encoded.cost.cpu_seconds_per_image,
            bmp_seconds: report.raw.cost.cpu_seconds_per_image,
        };
        let balances = options.by == By::Benefit && share > 0.0;
        Ok(Settled { share, balance: balances.then_some(balance) })
    }
}

/// Measures on the disk of the output, and predicts without trials, so that packing begins after
/// seconds.
fn quick(
    options: &PackOptions,
    source: &dyn Source,
    out: Option<&Path>,
    context: Context<'_>,
) -> Result<Report> {
    let encoded = match options.encode {
        Some(Encoding::Png) => Some(Codec::Png),
        Some(Encoding::Webp) => Some(Codec::Webp),
        Some(Encoding::Jpeg) => Some(Codec::Jpeg),
        _ => None,
    };
    let setup = ProfileOptions {
        target: Some(out.map_or_else(current, profile::beside)),
        formats: encoded.map(|codec| vec![codec, Codec::Bmp]).unwrap_or_default(),
        samples: 64,
        seed: options.seed,
        verify: profile::Verify::Off,
        runs: 1,
        seconds: 0.5,
        jpeg_quality: options.jpeg_quality.unwrap_or(90),
        max_pixels: options.max_pixels,
        max_file_bytes: options.max_file_bytes,
        ..ProfileOptions::default()
    };
    profile::measure(source, &setup, &current(), context)
}

fn current() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

/// Reads a profile from an earlier run.
fn read_profile(path: &Path) -> Result<Report> {
    let bytes = read_file(path, MAX_PROFILE_BYTES)?;
    let report: Report = serde_json::from_slice(&bytes).map_err(|cause| {
        let what = format!("{} is not a profile: {cause}", path.display());
        Error::usage(option::RATIO, what)
    })?;
    if report.version != 1 {
        let what = format!("{} is of version {}, not 1", path.display(), report.version);
        return Err(Error::usage(option::RATIO, what));
    }
    if report.raw.name != "bmp" {
        let what = format!(
            "{} is about {}, and a mixed set has BMPs besides its encoded images",
            path.display(),
            report.raw.name
        );
        return Err(Error::usage(option::RATIO, what));
    }
    let share = report.solution.chosen.share;
    if !(0.0..=1.0).contains(&share) {
        let what = format!("{} chose {share}, which is not from 0 to 1", path.display());
        return Err(Error::usage(option::RATIO, what));
    }
    // Invalid numbers are refused here instead of later.
    Model::new(report.encoded.cost, report.raw.cost, report.machine, report.n_images)?;
    Ok(report)
}

fn leave(report: &Report, copy: &Path) -> Result<()> {
    if let Some(folder) = copy.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    }
    fdconvert_storage::replace(copy, &profile::to_json(report)?)
}
