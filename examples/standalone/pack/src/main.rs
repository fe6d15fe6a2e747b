//! Packs a folder of images, opens the result, and loads a batch: `cargo run -- FOLDER OUT.beton`.
use fdconvert::{Loader, Pack, PackOptions, TransformList};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: pack-and-load FOLDER OUT.beton".into());
    };
    let options = PackOptions::default().jpeg_quality(90).max_side(512);
    let report = Pack::new([&folder], &out).options(options).run()?;
    println!("packed {} samples, skipped {}", report.samples, report.skipped.len());

    let dataset = fdconvert::open(&out)?;
    println!("the first of {} is {}", dataset.len(), dataset.get(0)?.key);

    let list = TransformList::rrc(224)?;
    let mut loader = Loader::builder(dataset).batch_size(4).transform(list)?.build()?;
    let batch = loader.next_batch().ok_or("no batch")??;
    println!("a batch of {} images, labels {:?}", batch.samples().len(), batch.labels());
    Ok(())
}
