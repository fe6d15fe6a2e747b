//! `fdconvert inspect`.
mod stats;

use crate::{Outcome, Session, common::Common, listen::Listener, output, reading::splits};
use clap::Args;
use fdconvert::{ByteCount, InspectOptions, Inspected, inspect};
use fdconvert_core::{Encoded, Kind, Result, Shown, Value};
use serde_json::Value as Json;
use std::{fmt::Write, path::PathBuf};

/// Number of class names shown before the rest is only counted.
const CLASSES_SHOWN: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Dataset to inspect
    pub(crate) dataset: PathBuf,
    /// Also list the first N samples
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) samples: u64,
    /// Count classes, codecs and sizes of all samples; by default only where there are up to 20,000
    ///
    /// Images with metadata are counted, too: EXIF, positions (GPS), XMP, comments. Every sample is
    /// read: files of a folder are opened, fractals are rendered.
    #[arg(long)]
    pub(crate) stats: bool,
    /// Hash keys, fields and all values: equal for datasets of the same samples in the same order,
    /// whatever their formats
    #[arg(long)]
    pub(crate) hash: bool,
    /// Only these splits [default: all]
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) split: Vec<String>,
    /// Limit on the decompressed size of compressed shards [default: 4GiB, and 100 times their size]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_decompressed: Option<ByteCount>,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &InspectArgs, session: &Session) -> Result<Outcome> {
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let options = InspectOptions::default()
        .samples(args.samples)
        .stats(args.stats)
        .hash(args.hash)
        .max_decompressed(args.max_decompressed)
        .split(splits(&args.split));
    let found = inspect(&args.dataset, &options, listener.context())?;
    if args.common.json {
        session.print_document(&found.document())?;
    } else {
        session.print(&as_text(args, &found))?;
    }
    Ok(Outcome::Complete)
}

fn as_text(args: &InspectArgs, found: &Inspected) -> String {
    let (reader, stats) = (&*found.dataset, found.stats.as_ref());
    let mut text = String::new();
    let mut line = |name: &str, what: &str| {
        // Writing to a string cannot fail. `Shown` keeps any name on one line.
        let _ = writeln!(text, "  {:17} {}", Shown(name).to_string(), Shown(what));
    };
    for (name, value) in reader.details() {
        // Splits follow with their sizes.
        if value.is_null() || name == "splits" {
            continue;
        }
        line(&name.replace('_', " "), &plain(&name, &value));
    }
    let splits = found.splits();
    if !splits.is_empty() {
        let sized = splits.iter().map(|(name, n)| format!("{name} {}", output::count(*n)));
        line("splits", &sized.collect::<Vec<_>>().join(", "));
    }
    let sums = if reader.has_checksums() { "of every sample" } else { "none of single samples" };
    line("checksums", sums);
    if let Some(hash) = found.root_hash {
        line("root hash", &hash.to_string());
    }
    for field in &reader.schema().fields {
        let mut what = match &field.kind {
            Kind::Array(spec) => {
                let shape: Vec<_> = spec.shape.iter().map(ToString::to_string).collect();
                format!("array {} {}", spec.dtype.numpy(), shape.join("x"))
            }
            kind => kind.name().to_owned(),
        };
        let mut list = |unit: &str, names: Vec<&str>| {
            let shown = names.iter().take(CLASSES_SHOWN).copied().collect::<Vec<_>>().join(", ");
            let more = if names.len() > CLASSES_SHOWN { ", ..." } else { "" };
            let n = output::counted(names.len() as u64, unit);
            let _ = write!(what, ", {n}: {shown}{more}");
        };
        if let Some(names) = &field.class_names {
            list("class", names.iter().map(String::as_str).collect());
        }
        if let Some(categories) = &field.categories {
            list("category", categories.iter().map(|it| it.name.as_str()).collect());
        }
        line(&format!("field {}", field.name), &what);
    }
    match stats {
        Some(stats) => stats::lines(stats).iter().for_each(|(name, what)| line(name, what)),
        None => line("classes, sizes", "not counted for this many samples; --stats counts them"),
    }
    if let Some(provenance) = reader.provenance() {
        line("made by", &provenance.tool);
        line("from", &provenance.source);
        for (name, value) in &provenance.params {
            line(&format!("param {name}"), value);
        }
        if !provenance.skipped.is_empty() {
            let n = output::counted(provenance.skipped.len() as u64, "sample");
            line("skipped", &format!("{n} of the source:"));
            for skipped in &provenance.skipped {
                let why = output::without_key(&skipped.reason, &skipped.key);
                line("", &format!("{}: {why}", skipped.key));
            }
        }
    }
    for sample in &found.first {
        let values: Vec<_> = sample.values.iter().map(shown).collect();
        line("sample", &format!("{}  {}", sample.key, values.join("  ")));
    }
    for remark in &found.remarks {
        line("note", &output::remark(remark));
    }
    let n = output::counted(reader.len(), "sample");
    format!("{}: {n}\n{text}", output::path(&args.dataset))
}

/// Formats a value for people; sizes in bytes get a unit.
fn plain(name: &str, value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Bool(true) => "yes".into(),
        Json::Bool(false) => "no".into(),
        Json::Number(number) if name.ends_with("bytes") => {
            number.as_u64().map_or_else(|| number.to_string(), output::size)
        }
        Json::Number(number) => number.as_u64().map_or_else(|| number.to_string(), output::count),
        Json::Object(parts) if parts.is_empty() => "none".into(),
        Json::Object(parts) => {
            let parts: Vec<_> = parts
                .iter()
                .map(|(name, value)| format!("{name} {}", plain(name, value)))
                .collect();
            parts.join(", ")
        }
        Json::Null => "none".into(),
        Json::Array(parts) if parts.is_empty() => "none".into(),
        Json::Array(parts) => {
            parts.iter().map(|part| plain(name, part)).collect::<Vec<_>>().join(", ")
        }
    }
}

fn shown_image(image: &Encoded) -> String {
    let (codec, size) = (image.codec.extension(), output::size(image.bytes.len() as u64));
    format!("{codec} {}x{} {size}", image.width, image.height)
}

fn shown(value: &Value<Encoded>) -> String {
    match value {
        Value::Image(_) | Value::Images(_) => match value.images() {
            [] => "no images".to_owned(),
            images => images.iter().map(shown_image).collect::<Vec<_>>().join(", "),
        },
        Value::Int(int) => int.to_string(),
        Value::Float(float) => float.to_string(),
        Value::Text(text) => format!("\"{text}\""),
        Value::Json(json) => String::from_utf8_lossy(json).into_owned(),
        Value::Bytes(bytes) | Value::Array(bytes) => output::size(bytes.len() as u64),
        _ => String::new(),
    }
}
