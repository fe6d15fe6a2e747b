//! As many samples as ImageNet: waiting times. Run by hand, to read its figures.
use crate::common::{Viewer, by};
use fdconvert::{FieldSpec, Image, Kind, Look, Pack, PackOptions, Pixels, Result, Sample};
use fdconvert::{Schema, Source, SourceFacts, Value};
use serde_json::Value as Json;
use std::{fs, sync::Arc, time::Instant};

const N_SAMPLES: u64 = 1_281_167;
const N_CLASSES: u64 = 1000;

struct Dots(SourceFacts);

impl Source for Dots {
    fn facts(&self) -> &SourceFacts {
        &self.0
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let (width, height) = (1 + (index % 7) as u32, 1 + (index % 3) as u32);
        let data = vec![index as u8; (width * height * 3) as usize];
        let image = Image::Pixels(Pixels { width, height, channels: 3, data });
        let class = Value::Int((index % N_CLASSES).cast_signed());
        Ok(Sample { key: self.key(index), values: vec![Value::Image(image), class] })
    }

    fn key(&self, index: u64) -> String {
        format!("n{:08}/n{:08}_{index}.JPEG", index % N_CLASSES, index % N_CLASSES)
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(*b"dots version one")
    }
}

/// Returns the memory of the process in kilobytes.
fn resident(name: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
}

#[test]
#[ignore = "its figures are to be read: cargo test --release -p fdconvert-view --test view -- --ignored --nocapture"]
#[allow(clippy::print_stdout, reason = "it exists to print figures")]
fn a_million_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dots.beton");
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)];
    let source = Arc::new(Dots(SourceFacts::new("dots", Schema::new(fields).unwrap(), N_SAMPLES)));
    let options = PackOptions::default();
    Pack::from_source(source, &path).options(options).run().unwrap();
    let told = |what: &str, began: Instant| println!("{what}: {:?}", began.elapsed());

    println!("before: {} {}", resident("VmRSS"), resident("RssAnon"));
    let began = Instant::now();
    let viewer = Viewer::of(&path);
    let dataset = viewer.json("api/dataset");
    told("first answer", began);
    println!("then: {} {}", resident("VmRSS"), resident("RssAnon"));
    assert_eq!(dataset["samples"].as_u64(), Some(N_SAMPLES));
    let complete = |it: &Json| it["scanned"] == it["samples"];
    viewer.until(&format!("api/samples?count=1&{}", by("label == 999")), |it| {
        it["scanned"] == N_SAMPLES
    });
    told("catalog", began);
    println!("then: {} {}", resident("VmRSS"), resident("RssAnon"));
    let both = "label == 17 && width >= 3 && width <= 5";
    for (path, expression) in [
        ("api/samples", "label == 17"),
        ("api/samples", "width >= 3 && width <= 5 && label in [4, 5]"),
        ("api/samples", "width > height"),
        ("api/samples", "key contains 'n00000123'"),
        ("api/facets", ""),
        ("api/facets", both),
        ("api/facets", both),
        ("keys.txt", ""),
        ("api/damage", ""),
    ] {
        let began = Instant::now();
        let reply = viewer.ok(&format!("{path}?{}", by(expression)));
        println!("{path} {expression}: {:?}, {} bytes", began.elapsed(), reply.body.len());
    }
    viewer.until("api/facets", complete);
}
