//! Measures how fast a dataset is loaded: `throughput DATASET [center|random|none] [THREADS]
//! [EPOCHS] [MASK]...`, with masks in the fields of these names.
#![allow(clippy::print_stdout, reason = "a measurement for people")]

use cpu_time::ProcessTime;
use fdconvert_loader::{Datasets, Loader, MaskOptions, Options, Transform, TransformList};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("name a dataset")?;
    let transform = match args.next().as_deref() {
        Some("random") => TransformList::new(vec![Transform::random_resized_crop(224)])?,
        Some("none") => TransformList::new(vec![Transform::squeeze([224, 224])])?,
        _ => TransformList::center(224)?,
    };
    let threads = args.next().map_or(Ok(1), |threads| threads.parse())?;
    let epochs: u64 = args.next().map_or(Ok(3), |epochs| epochs.parse())?;
    let masks = args.map(MaskOptions::of).collect();
    let options =
        Options::default().batch_size(256).threads(threads).transform(transform).masks(masks);
    let mut loader = Loader::new(Datasets::open(path)?, options)?;
    for epoch in 0..epochs {
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        loader.reset_stats();
        let (mut n_images, mut sum) = (0, 0u64);
        while let Some(batch) = loader.next_batch() {
            let batch = batch?;
            n_images += batch.len();
            sum += batch.images().iter().step_by(4099).map(|value| u64::from(*value)).sum::<u64>();
        }
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        let stats = loader.stats();
        let per = |seconds: f64| seconds / n_images as f64 * 1e3;
        println!(
            "epoch {epoch}: {n_images} images, {:.0}/s, CPU {:.3} ms an image (fetch {:.3}, decode \
             {:.3}, render {:.3}), {}, check {sum}",
            n_images as f64 / wall,
            per(cpu),
            per(stats.fetch.as_secs_f64()),
            per(stats.decode.as_secs_f64()),
            per(stats.render.as_secs_f64()),
            stats.verdict.name()
        );
    }
    Ok(())
}
