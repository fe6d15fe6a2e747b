//! Opening a beton of ImageNet's size and fetching samples from it: `cargo bench --bench open_get`.
//!
//! The file is synthetic: 1,281,167 raw images of one pixel, so that what is measured is the
//! reader and not the disk. Prints Markdown; a recorded result is in `benches/README.md`.
//! `cargo bench --bench open_get -- SAMPLES FILE` only writes such a file, for `benches/dlio/start.py`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
use fdconvert_core::{
    Codec, Common, Create, Encoded, FieldSpec, Format, Kind, OptionValues, Provenance, Sample,
    Schema, Shard, Value,
};
use fdconvert_formats::beton::Beton;
use std::{fs, path::Path, time::Instant};

const N_SAMPLES: u64 = 1_281_167;
const ROUNDS: usize = 7;

fn main() {
    // Cargo adds `--bench`.
    let given: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [n_samples, path] = &given[..] {
        return write(Path::new(path), n_samples.parse().unwrap(), false);
    }
    let folder = tempfile::tempdir_in(".").unwrap();
    println!("| file | open ms | RSS MiB | get(i) in order, M/s | get(i) at random, M/s |");
    println!("|---|---|---|---|---|");
    for compat in [false, true] {
        let path = folder.path().join("synthetic.beton");
        write(&path, N_SAMPLES, compat);
        let (mut opens, mut resident, mut orderly, mut random) = (vec![], vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            let before = resident_bytes();
            let began = Instant::now();
            let reader = fdconvert_reader::open(&path).unwrap();
            opens.push(began.elapsed().as_secs_f64() * 1e3);
            resident.push((resident_bytes() - before).max(0.0) / f64::from(1 << 20));
            let get = |step: u64| {
                let began = Instant::now();
                let mut bytes = 0;
                let mut index = 0;
                for _ in 0..N_SAMPLES {
                    index = (index + step) % N_SAMPLES;
                    let sample = reader.get(index).unwrap();
                    if let Value::Image(image) = &sample.values[0] {
                        bytes += image.bytes.len();
                    }
                }
                assert_eq!(bytes as u64, 3 * N_SAMPLES);
                N_SAMPLES as f64 / began.elapsed().as_secs_f64() / 1e6
            };
            orderly.push(get(1));
            // Coprime to the number of samples: visits each once, far apart.
            random.push(get(611_953));
        }
        let name = if compat { "as FFCV writes it" } else { "with index block" };
        println!(
            "| {name} | {:.2} | {:.1} | {:.2} | {:.2} |",
            median(&mut opens),
            median(&mut resident),
            median(&mut orderly),
            median(&mut random)
        );
        fs::remove_file(&path).unwrap();
    }
}

fn write(path: &Path, n_samples: u64, compat: bool) {
    let mut options = OptionValues::default();
    if compat {
        options.0.insert("compat".into(), "ffcv".into());
    }
    let format = Beton::default().with_options(&options).unwrap();
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)];
    let request = Create {
        out: path,
        schema: &Schema::new(fields).unwrap(),
        shard: &Shard::whole(n_samples),
        common: &Common::default(),
        provenance: &Provenance::default(),
        fingerprint: [0; 16],
        stamp: [0; 16],
        overwrite: false,
        entry_points: false,
        is_open: false,
    };
    let mut writer = format.create(&request).unwrap();
    for index in 0..n_samples {
        let pixel = bytes::Bytes::copy_from_slice(&index.to_le_bytes()[..3]);
        let image = Encoded::new(Codec::Raw, 1, 1, pixel);
        let values = vec![Value::Image(image), Value::Int((index % 1000) as i64)];
        let key = format!("n{:08}/n{:08}_{index}.JPEG", index % 1000, index % 1000);
        writer.write(&Sample { key, values }).unwrap();
    }
    writer.finish().unwrap();
}

/// Resident memory of this process, mapped pages that were touched included.
fn resident_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = status.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096.0
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
