//! Reads samples at random from several threads that share one reader:
//! `cargo run --release --example random_access -- train.beton`.
#![allow(clippy::print_stdout)]
use fdconvert_reader::{Error, Reader, Result, Value, open};
use std::{thread, time::Instant};

const THREADS: u64 = 4;
const READS_PER_THREAD: u64 = 100_000;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "train.beton".into());
    let dataset = open(path)?;
    let began = Instant::now();
    let bytes = thread::scope(|scope| {
        let readers: Vec<_> = (0..THREADS)
            .map(|seed| {
                scope.spawn({
                    let data = &*dataset;
                    move || read(data, seed)
                })
            })
            .collect();
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap_or(Err(Error::Cancelled)))
            .sum::<Result<u64>>()
    })?;
    let reads = THREADS * READS_PER_THREAD;
    let rate = reads as f64 / began.elapsed().as_secs_f64();
    println!("{reads} samples, {bytes} image bytes, {rate:.0} samples/s");
    Ok(())
}

/// Fetches samples in a pseudo-random order and adds up the sizes of their images.
fn read(dataset: &dyn Reader, seed: u64) -> Result<u64> {
    let mut state = seed;
    let mut bytes = 0;
    for _ in 0..READS_PER_THREAD {
        // Knuth's MMIX generator; its upper bits are the better ones.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let sample = dataset.get((state >> 33) % dataset.len())?;
        for value in &sample.values {
            if let Value::Image(image) = value {
                bytes += image.bytes.len() as u64;
            }
        }
    }
    Ok(bytes)
}
