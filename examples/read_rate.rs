//! Measures how fast a dataset is read: `cargo run --release --example read_rate -- train/`.
//!
//! Once it only fetches samples, once it reads every byte of their images, on one thread, from the
//! page cache.
#![allow(clippy::print_stdout)]
use fdconvert_reader::{Reader, Result, Value, open};
use std::time::Instant;

const ROUNDS: u32 = 5;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "train.beton".into());
    let dataset = open(path)?;
    // The first round reads everything into the cache.
    pass(&*dataset, true)?;
    for (what, touch) in [("fetching samples", false), ("and reading every byte", true)] {
        let began = Instant::now();
        for _ in 0..ROUNDS {
            pass(&*dataset, touch)?;
        }
        let samples = dataset.len() * u64::from(ROUNDS);
        let rate = samples as f64 / began.elapsed().as_secs_f64();
        println!("{what}: {rate:.0} samples/s");
    }
    Ok(())
}

/// Reads every sample; the sum keeps the compiler from removing the reads.
fn pass(dataset: &dyn Reader, touch: bool) -> Result<u64> {
    let mut sum = 0;
    for index in 0..dataset.len() {
        let sample = dataset.get(index)?;
        for value in &sample.values {
            if let Value::Image(image) = value {
                sum += image.bytes.len() as u64;
                if touch {
                    sum += image.bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                }
            }
        }
    }
    Ok(std::hint::black_box(sum))
}
