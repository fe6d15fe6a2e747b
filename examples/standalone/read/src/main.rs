//! Walks over a packed dataset with the crate that loaders link: `cargo run -- DATASET`.
use fdconvert_reader::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: read DATASET")?;
    let dataset = fdconvert_reader::open(&path)?;
    let mut bytes = 0;
    for index in 0..dataset.len() {
        for value in dataset.get(index)?.values {
            if let Value::Image(image) = value {
                bytes += image.bytes.len();
            }
        }
    }
    println!("{} samples, {bytes} bytes of images", dataset.len());
    Ok(())
}
