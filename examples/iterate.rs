//! Walks over any dataset: `cargo run --example iterate -- train.beton`.
#![allow(clippy::print_stdout)]
use fdconvert_reader::{Result, Value, open};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "train.beton".into());
    let dataset = open(path)?;
    for index in 0..dataset.len() {
        let sample = dataset.get(index)?;
        for (field, value) in dataset.schema().fields.iter().zip(&sample.values) {
            match value {
                // `image.bytes` is a view of the memory map: nothing was copied.
                Value::Image(image) => {
                    let (codec, w, h) = (image.codec.extension(), image.width, image.height);
                    println!(
                        "{} {}: {codec} {w}x{h}, {} bytes",
                        sample.key,
                        field.name,
                        image.bytes.len()
                    );
                }
                Value::Int(int) => println!("{} {}: {int}", sample.key, field.name),
                other => println!("{} {}: {other:?}", sample.key, field.name),
            }
        }
    }
    Ok(())
}
