//! Makes a beton of 1,280,000 small JPEGs in 1000 classes, for measuring the viewer: `cargo run
//! --release -p fdconvert-view --example many -- OUT.beton`.
//!
//! `scripts/check-view-large.sh` makes it and measures. Sample `i` has class `i % 1000`, so that a
//! filter by class has to check all chunks.
#![allow(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "an experiment ends where something is wrong"
)]
use fdconvert::{Codec, Encoded, FieldSpec, Image, Kind, Look, Pack, PackOptions, Pixels, Result};
use fdconvert::{Sample, Schema, Source, SourceFacts, Value};
use fdconvert_codec::{Encoder, JpegOptions};
use std::sync::Arc;

const N_SAMPLES: u64 = 1_280_000;
const N_CLASSES: u64 = 1000;

/// Number of different images; each sample has one of them.
const N_IMAGES: u64 = 61;

struct Many {
    facts: SourceFacts,
    images: Vec<Encoded>,
}

fn main() {
    let out = std::env::args_os().nth(1).expect("the path of the beton to be written");
    let label = FieldSpec::label("label", (0..N_CLASSES).map(|it| format!("class {it}")).collect());
    let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image), label]).expect("a schema");
    let facts = SourceFacts::new("many", schema, N_SAMPLES);
    let source = Many { facts, images: (0..N_IMAGES).map(image).collect() };
    let report = Pack::from_source(Arc::new(source), &out).options(PackOptions::default()).run();
    let report = report.expect("the beton is written");
    eprintln!("{} samples in {}", report.samples, out.display());
}

/// Returns a gray gradient that differs in size and direction.
fn image(number: u64) -> Encoded {
    let (width, height) = (24 + (number % 7) as u32 * 4, 24 + (number % 5) as u32 * 4);
    let level = |at: u64| {
        let (x, y) = (at % u64::from(width), at / u64::from(width));
        ((x * (number % 3 + 1) + y * (number % 4 + 1)) * 3 + number * 2) as u8
    };
    let data = (0..u64::from(width) * u64::from(height)).map(level).collect();
    let pixels = Pixels { width, height, channels: 1, data };
    let options = JpegOptions { quality: 60, ..JpegOptions::default() };
    let made = Encoder::new().encode("a gradient", &pixels, Codec::Jpeg, &options, None);
    made.expect("a JPEG")
}

impl Source for Many {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let image = self.images.iter().cycle().nth((index % N_IMAGES) as usize);
        let image = image.cloned().expect("there are images");
        let class = Value::Int((index % N_CLASSES).cast_signed());
        Ok(Sample {
            key: self.key(index),
            values: vec![Value::Image(Image::Encoded(image)), class],
        })
    }

    fn key(&self, index: u64) -> String {
        format!("n{:08}/n{:08}_{index}.jpg", index % N_CLASSES, index % N_CLASSES)
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(*b"many version one")
    }
}
