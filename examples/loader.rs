//! Batches for training in Rust, stopped in the middle and resumed from forty bytes.
//!
//! ```sh
//! cargo run --release --example loader -- train.beton
//! ```
#![allow(clippy::print_stdout)]

use fdconvert_core::Result;
use fdconvert_loader::{Datasets, Loader, Options, State, TransformList};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "train.beton".into());
    let list = TransformList::rrc(224)?;
    let options = || Options::default().batch_size(4).seed(7).transform(list.clone());
    let datasets = Datasets::open(path)?;
    let mut loader = Loader::new(datasets.clone(), options())?;
    println!("{} samples, {} batches an epoch", datasets.len(), loader.len());

    // The checkpoint is that of the last delivered batch, whatever the number of prefetched ones.
    let first = loader.next_batch().transpose()?;
    println!("batch 0: samples {:?}", first.as_ref().map(|batch| batch.samples()));
    let checkpoint = loader.state().to_bytes();
    drop(loader);

    let mut loader = Loader::new(datasets, options())?;
    loader.restore(&State::from_bytes(&checkpoint)?)?;
    while let Some(batch) = loader.next_batch() {
        let batch = batch?;
        let mean = batch.images().iter().map(|value| f64::from(*value)).sum::<f64>()
            / batch.images().len().max(1) as f64;
        println!(
            "batch {}: samples {:?}, labels {:?}, mean {mean:.1}",
            batch.step(),
            batch.samples(),
            batch.labels()
        );
    }
    let stats = loader.stats();
    println!("{} samples, decoded in {:?}, {}", stats.samples, stats.decode, stats.verdict.name());
    Ok(())
}
