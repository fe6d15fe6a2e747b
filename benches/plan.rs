//! Planning ten million samples from a synthetic listing: `cargo bench --bench plan`.
//!
//! Shuffled, in shards of 256 MiB by the samples' sizes, with a listing of all names in the plan.
//! Prints Markdown; a recorded result is in `benches/README.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
use fdconvert_codec::Policy;
use fdconvert_core::{Codec, FieldSpec, Image, Kind, OptionValues, Result, Sample, Schema, Source};
use fdconvert_pipeline::{Plan, PlanFile, PlanRequest, PlannedSource};
use std::{fs, time::Instant};

const N_SAMPLES: u64 = 10_000_000;

struct Synthetic(Schema);

impl Source for Synthetic {
    fn schema(&self) -> &Schema {
        &self.0
    }

    fn len(&self) -> u64 {
        N_SAMPLES
    }

    fn read(&self, _: u64) -> Result<Sample<Image>> {
        unreachable!("planning by known sizes reads nothing")
    }

    fn key(&self, index: u64) -> String {
        format!("n{:08}/n{:08}_{index}.JPEG", index / 1000, index / 1000)
    }

    fn codec_hint(&self, _: u64) -> Option<Codec> {
        Some(Codec::Jpeg)
    }

    fn image_bytes(&self, index: u64) -> Option<u64> {
        Some(100_000 + index * 7919 % 20_000)
    }

    fn name(&self) -> String {
        "synthetic".into()
    }

    fn fingerprint(&self) -> [u8; 16] {
        [0; 16]
    }
}

fn main() {
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)];
    let schema = Schema::new(fields).unwrap();
    let source = Synthetic(schema.clone());
    let began = Instant::now();
    let format = fdconvert_reader::formats().into_iter().find(|format| format.name() == "wds");
    let format = format.unwrap().with_options(&OptionValues::default()).unwrap();
    let request = PlanRequest { shuffle: Some(1), ..PlanRequest::default() };
    let plan = Plan::new(&source, &Policy::default(), &*format, &request).unwrap();
    let planned = began.elapsed().as_secs_f64();
    let n_shards = plan.shards.len();
    let mut listing = Vec::new();
    for index in 0..N_SAMPLES {
        listing.extend([0; 6]);
        listing.extend(source.key(index).as_bytes());
    }
    let file = PlanFile {
        options: serde_json::Value::Null,
        sources: vec![PlannedSource {
            path: "synthetic".into(),
            fingerprint: [0; 16],
            n_samples: N_SAMPLES,
            schema,
            listing: Some(listing),
            left_out: fdconvert_core::Ignored::default(),
        }],
        plan,
    };
    let began = Instant::now();
    let bytes = file.to_bytes().unwrap();
    let written = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let back = PlanFile::<serde_json::Value>::parse(&bytes, "plan").unwrap();
    let read = began.elapsed().as_secs_f64();
    assert_eq!(back.plan.shards.len(), n_shards);
    println!("| samples | shards | planning s | to bytes s | file MB | reading s | peak MiB |");
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {N_SAMPLES} | {n_shards} | {planned:.1} | {written:.1} | {} | {read:.1} | {} |",
        bytes.len() / 1_000_000,
        peak_kib() / 1024
    );
}

/// The most memory this process ever had resident.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
