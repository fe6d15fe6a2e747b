//! One experiment for each paper.
mod generation;
mod latency;
mod loaders;
mod locality;
mod mixing;

use crate::{
    Claim, Findings, Missing, Paper, ReproduceOptions, findings::disturbed, rivals::Rival,
    watch::Watch,
};
use fdconvert::Context;
use fdconvert_core::{Error, Result};
use fdconvert_loader::{DType, Layout, Options, Transform, TransformList};
use std::{path::Path, time::Instant};

/// Side in pixels of the inputs of networks for ImageNet.
const SIZE: u32 = 224;

/// Runs the experiment of a paper.
///
/// # Errors
/// `Usage` for invalid options; as for packing and loading; `Cancelled`.
pub fn reproduce(
    paper: Paper,
    options: &ReproduceOptions,
    context: Context<'_>,
) -> Result<Findings> {
    let began = Instant::now();
    let scratch = tempfile::Builder::new()
        .prefix("fdconvert-reproduce-")
        .tempdir_in(&options.scratch)
        .map_err(Error::io("create a folder in", &options.scratch))?;
    let watch = Watch::new(context);
    let run = Run { options, folder: scratch.path(), watch: &watch };
    let found = match paper {
        Paper::Loaders => loaders::run(&run)?,
        Paper::Generation => generation::run(&run)?,
        Paper::Latency => latency::run(&run)?,
        Paper::Mixing => mixing::run(&run)?,
        Paper::Locality => locality::run(&run)?,
    };
    let Found { others, missing, claims, mut results, differences, figures, tables } = found;
    results.extend(disturbed(&figures));
    let others = others.into_iter();
    Ok(Findings {
        paper,
        title: paper.title(),
        tool: format!("fdconvert {}", env!("CARGO_PKG_VERSION")),
        measured_on: fdconvert::plumbing::measured_on(scratch.path(), &options.command),
        quick: options.quick,
        seconds: began.elapsed().as_secs_f64(),
        others: others.map(|rival| (rival.kind.name().to_owned(), rival.version)).collect(),
        missing,
        claims,
        results,
        differences,
        figures,
        tables,
    })
}

struct Run<'a> {
    options: &'a ReproduceOptions,
    /// A new folder that is removed afterwards.
    folder: &'a Path,
    watch: &'a Watch<'a>,
}

#[derive(Default)]
struct Found {
    others: Vec<Rival>,
    missing: Vec<Missing>,
    claims: Vec<Claim>,
    results: Vec<String>,
    differences: Vec<String>,
    figures: Vec<crate::Figure>,
    tables: Vec<crate::TableOf>,
}

/// Adds failed loaders to the missing ones.
fn failures(missing: &mut Vec<Missing>, failed: Vec<(String, String)>) {
    missing.extend(failed.into_iter().map(|(name, why)| Missing { name, why }));
}

/// Returns options for the batches of the papers' networks: whole images, resized and changed so, as
/// normalised floats.
fn loader(batch_size: u32, threads: usize, change: Option<Transform>) -> Result<Options> {
    let mut list = vec![Transform::squeeze([SIZE; 2])];
    list.extend(change);
    list.extend([
        Transform::normalize_imagenet(),
        Transform::to_dtype(DType::F32),
        Transform::ToLayout { layout: Layout::Nchw },
    ]);
    let transform = TransformList::new(list)?;
    Ok(Options::default().batch_size(batch_size).transform(transform).threads(threads))
}
