//! `--ratio`: a number, or something that becomes one before anything is planned.
use crate::{
    Session,
    args::{ByArg, RecipeArgs},
    output, profile,
    sources::{self, Opening},
    values::share,
};
use fdconvert_core::{Error, Result};
use fdconvert_profile::{Machine, Model, Report};
use serde::{Deserialize, Serialize};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

/// What `--ratio` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RatioArg {
    /// Share of the images that becomes BMP.
    Share(f64),
    /// The share that a profile chose, and what it measured: for `--by benefit`, which needs fewer
    /// images to balance the two.
    Balanced {
        /// Share of images, where any would do.
        share: f64,
        /// As in `fdconvert_pipeline::Balance`, in its order.
        measured: [f64; 5],
    },
    /// The share that this machine reads fastest.
    Auto,
    /// The share that such a profile chose.
    Profile(PathBuf),
}

impl fmt::Display for RatioArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) | Self::Balanced { share, .. } => share.fmt(f),
            Self::Auto => f.write_str("auto"),
            Self::Profile(path) => path.display().fmt(f),
        }
    }
}

/// `auto`, `0.3`, `30%`, `3:7` or a path that ends in `.json`.
pub(crate) fn parse(text: &str) -> Result<RatioArg, String> {
    if text == "auto" {
        return Ok(RatioArg::Auto);
    }
    if text.ends_with(".json") {
        return Ok(RatioArg::Profile(text.into()));
    }
    if let Some((bmp, others)) = text.split_once(':') {
        let part = |text: &str| text.trim().parse::<f64>().ok().filter(|part| *part >= 0.0);
        let parts = part(bmp).zip(part(others)).map(|(bmp, others)| bmp / (bmp + others));
        if let Some(share) = parts.filter(|share| share.is_finite()) {
            return Ok(RatioArg::Share(share));
        }
    }
    share(text).map(RatioArg::Share).map_err(|_| {
        format!("`{text}` is no ratio; write auto, e.g. 0.3, 30% or 3:7, or the path of a .json")
    })
}

/// Where a run that profiled leaves what it found, so that going on after a stop does not profile
/// again and find another number.
const COPY: &str = ".fdconvert/profile.json";

/// The arguments with a number for a ratio. `out` is the dataset that will be written, where that
/// is known already; nothing is left there on a dry run.
pub(crate) fn settle(
    args: &RecipeArgs,
    paths: &[PathBuf],
    out: Option<&Path>,
    overwrite: bool,
    quiet: bool,
    session: &Session,
) -> Result<RecipeArgs> {
    let report = match &args.ratio {
        None | Some(RatioArg::Share(_) | RatioArg::Balanced { .. }) => return Ok(args.clone()),
        Some(RatioArg::Profile(path)) => read(path)?,
        Some(RatioArg::Auto) => {
            let copy = out.map(|out| out.join(COPY));
            let known = copy.as_deref().filter(|copy| !overwrite && copy.is_file());
            let report = match known {
                Some(copy) => read(copy)?,
                None => {
                    let source =
                        sources::open(paths, Opening { args, quiet, session, cache: None })?;
                    let report = profile::quick(&*source, args, out, quiet, session)?;
                    if let Some(copy) = &copy {
                        leave(&report, copy)?;
                    }
                    report
                }
            };
            if !quiet {
                session.say(&said(&report, known));
            }
            report
        }
    };
    let share = report.solution.chosen.share;
    let Machine { read_bytes_per_s, effective_cores, cache_bytes } = report.machine;
    let [encoded, bmp] =
        [&report.encoded, &report.raw].map(|format| format.cost.cpu_seconds_per_image);
    let ratio = match args.by {
        ByArg::Benefit if share > 0.0 => RatioArg::Balanced {
            share,
            measured: [read_bytes_per_s, effective_cores, cache_bytes, encoded, bmp],
        },
        _ => RatioArg::Share(share),
    };
    Ok(RecipeArgs { ratio: Some(ratio), ..args.clone() })
}

fn said(report: &Report, known: Option<&Path>) -> String {
    let chosen = &report.solution.chosen;
    let from =
        known.map_or(String::new(), |copy| format!(" (profiled before: {})", output::path(copy)));
    format!(
        "ratio {:.3}{from}: {:.0} images/s predicted, {:.0} with everything {}; {} to store",
        chosen.share,
        chosen.throughput.images_per_s(),
        report.solution.encoded_only.throughput.images_per_s(),
        report.encoded.name,
        output::size(chosen.dataset_bytes as u64),
    )
}

/// A profile that `fdconvert profile` wrote.
fn read(path: &Path) -> Result<Report> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let report: Report = serde_json::from_slice(&bytes).map_err(|cause| {
        let what = format!("{} is not a profile: {cause}", path.display());
        Error::usage("--ratio", what)
    })?;
    if report.version != 1 {
        let what = format!("{} is of version {}, not 1", path.display(), report.version);
        return Err(Error::usage("--ratio", what));
    }
    if report.raw.name != "bmp" {
        let what = format!(
            "{} is about {}, and a mixed set has BMP beside its encoded images",
            path.display(),
            report.raw.name
        );
        return Err(Error::usage("--ratio", what));
    }
    let share = report.solution.chosen.share;
    if !(0.0..=1.0).contains(&share) {
        let what = format!("{} chose {share}, which is not from 0 to 1", path.display());
        return Err(Error::usage("--ratio", what));
    }
    // Numbers that mean nothing are refused here and not met later.
    Model::new(report.encoded.cost, report.raw.cost, report.machine, report.n_images)?;
    Ok(report)
}

fn leave(report: &Report, copy: &Path) -> Result<()> {
    if let Some(folder) = copy.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    }
    fdconvert_storage::replace(copy, &profile::json(report)?)
}
