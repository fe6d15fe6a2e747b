//! Profiles a folder of images: `cargo run --release --example profile -- FOLDER SCRATCH OUT.html`.
//! Compares PNG with BMP, past the page cache; reads the bandwidth of the file system of SCRATCH.
#![allow(clippy::print_stdout, reason = "an example prints")]

use fdconvert_core::{
    Codec, Encoded, Error, FieldSpec, Image, Kind, Look, Result, Sample, Schema, Source,
    SourceFacts, Value, bytes::u32_be_at,
};
use fdconvert_profile::{
    Machine, Measuring, Model, Pattern, ReadPlan, Report, Target, measure_formats, measure_read,
    research::paper_search, to_html,
};
use std::{env, fs, path::Path, path::PathBuf};

struct Pngs {
    facts: SourceFacts,
    paths: Vec<PathBuf>,
}

impl Source for Pngs {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let key = self.key(index);
        let bytes = fs::read(&key).map_err(Error::io("read", &key))?;
        let (Some(width), Some(height)) = (u32_be_at(&bytes, 16), u32_be_at(&bytes, 20)) else {
            return Err(Error::sample(&key, "is not a PNG"));
        };
        let image = Encoded::new(Codec::Png, width, height, bytes.into());
        Ok(Sample { key, values: vec![Value::Image(image.into())] })
    }

    fn key(&self, index: u64) -> String {
        let path = usize::try_from(index).ok().and_then(|index| self.paths.get(index));
        path.map(|path| path.display().to_string()).unwrap_or_default()
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let mut arg = |name| args.next().ok_or_else(|| Error::usage(name, "is missing"));
    let (folder, scratch, out) = (arg("FOLDER")?, arg("SCRATCH")?, arg("OUT.html")?);
    let entries = fs::read_dir(&folder).map_err(Error::io("list", &folder))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "png"));
    paths.sort();
    let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)])?;
    let source = Pngs { facts: SourceFacts::new("pngs", schema, paths.len() as u64), paths };

    let never = || false;
    let formats = [Codec::Png, Codec::Bmp];
    let measured = measure_formats(&source, &formats, &Measuring::default(), &never)?;
    println!("{measured:#?}");
    let target = Target::Scratch { folder: scratch.clone().into(), bytes: 256 << 20 };
    let plan = ReadPlan { pattern: Pattern::Random, max_bytes: 512 << 20, ..ReadPlan::default() };
    let read = measure_read(&target, &plan, None, &never)?;
    println!("{read:#?}");

    let machine = Machine {
        read_bytes_per_s: read.bytes_per_s,
        effective_cores: measured.effective_cores(),
        consumer_images_per_s: None,
        cache_bytes: 0.0,
    };
    let [png, bmp] = [0, 1].map(|format| measured.formats[format].cost);
    let model = Model::new(png, bmp, machine, 100_000)?;
    let dataset = Path::new(&folder).file_name().unwrap_or_default().display().to_string();
    let mut report = Report::new(&dataset, &scratch, ["png", "bmp"], &model);
    report.search = Some(paper_search(|share| Ok(model.throughput(share)))?);
    report.measured = Some(measured);
    report.read = Some(read);
    println!("{:#?}", report.solution);
    fs::write(&out, to_html(&report)).map_err(Error::io("write", &out))
}
