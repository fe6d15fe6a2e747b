//! `fdconvert fractal census`.
use super::{args::CensusArgs, open_any};
use crate::{Outcome, Session, output, progress::bar};
use fdconvert_core::{Error, Result};
use fdconvert_storage::create_new;
use rayon::prelude::*;
use serde_json::{Map, json};
use std::fmt::Write;

/// Bounds on the share of lit pixels below which images are counted.
const BELOW: [f64; 5] = [0.001, 0.01, 0.05, 0.1, 0.2];

/// Number of classes between two checks of the signals.
const BATCH: u32 = 64;

pub(crate) fn run(args: &CensusArgs, session: &Session) -> Result<Outcome> {
    let quiet = args.common.quiet || args.common.json;
    let source = open_any(&args.source, quiet, session)?;
    let formula = source.formula();
    let n_classes = formula.categories.len() as u32;
    let bar = bar("counting", quiet, session);
    bar.set_length(n_classes.into());
    let mut fills: Vec<Vec<f64>> = Vec::new();
    for from in (0..n_classes).step_by(BATCH as usize) {
        if session.cancel().is_cancelled() {
            bar.finish_and_clear();
            return Err(Error::Cancelled);
        }
        let classes = from..n_classes.min(from + BATCH);
        let batch = classes.into_par_iter().map(|class| source.fills(class));
        fills.extend(batch.collect::<Result<Vec<_>>>()?);
        bar.set_position(fills.len() as u64);
    }
    bar.finish_and_clear();
    if let Some(path) = &args.csv {
        let size = formula.frame.size();
        let mut text = format!("category,weight_row,fill_{size}_{}\n", formula.frame.points());
        for (category, fills) in formula.categories.iter().zip(&fills) {
            for (row, fill) in fills.iter().enumerate() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{},{row},{fill:.5}", category.name);
            }
        }
        create_new(path, text.as_bytes())?;
    }
    if args.common.json {
        session.print_json("fractal-census", json_of(&fills, n_classes))?;
    } else if !args.common.quiet {
        session.print(&text_of(&fills, n_classes))?;
    }
    Ok(Outcome::Complete)
}

/// Returns the share of the numbers below each bound.
fn shares<'a>(fills: impl Iterator<Item = &'a f64> + Clone) -> [f64; BELOW.len()] {
    let n = fills.clone().count().max(1) as f64;
    BELOW.map(|bound| fills.clone().filter(|fill| **fill < bound).count() as f64 / n)
}

/// Returns the fills of a row of weights, in order of the classes.
fn row(fills: &[Vec<f64>], row: usize) -> Vec<f64> {
    fills.iter().filter_map(|fills| fills.get(row)).copied().collect()
}

fn mean(fills: &[f64]) -> f64 {
    fills.iter().sum::<f64>() / fills.len().max(1) as f64
}

fn median(mut fills: Vec<f64>) -> f64 {
    fills.sort_by(f64::total_cmp);
    fills.get(fills.len() / 2).copied().unwrap_or(0.0)
}

fn text_of(fills: &[Vec<f64>], n_classes: u32) -> String {
    let n_rows = fills.first().map_or(0, Vec::len);
    let n_images = output::count(fills.iter().map(|fills| fills.len() as u64).sum());
    let mut text = format!(
        "share of pixels that points light, {} categories by {n_rows} rows of weights\n\n  {:8}",
        output::count(n_classes.into()),
        "row"
    );
    // Writing to a string cannot fail.
    for bound in BELOW {
        let _ = write!(text, "  <{:>4} %", bound * 100.0);
    }
    let _ = writeln!(text, "    mean  median");
    let mut line = |name: String, fills: Vec<f64>| {
        let _ = write!(text, "  {name:8}");
        for share in shares(fills.iter()) {
            let _ = write!(text, "  {:5.1} %", share * 100.0);
        }
        let _ = writeln!(text, "  {:6.3}  {:6.3}", mean(&fills), median(fills));
    };
    for number in 0..n_rows {
        line(format!("{number:02}"), row(fills, number));
    }
    line("all".into(), fills.iter().flatten().copied().collect());
    let _ = writeln!(text, "\n{n_images} images; columns say how many of them are emptier");
    text
}

fn json_of(fills: &[Vec<f64>], n_classes: u32) -> Map<String, serde_json::Value> {
    let n_rows = fills.first().map_or(0, Vec::len);
    let facts = |fills: Vec<f64>| json!({"below": shares(fills.iter()), "mean": mean(&fills), "median": median(fills)});
    let rows: Vec<_> = (0..n_rows).map(|number| facts(row(fills, number))).collect();
    let mut fields = Map::new();
    fields.insert("categories".into(), json!(n_classes));
    fields.insert("bounds".into(), json!(BELOW));
    fields.insert("all".into(), facts(fills.iter().flatten().copied().collect()));
    fields.insert("rows".into(), json!(rows));
    fields
}
