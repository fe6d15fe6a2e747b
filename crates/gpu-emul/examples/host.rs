//! Measures the host's work for a batch without a GPU: microseconds per image on one thread.
//!
//! ```sh
//! cargo run --release -p fdconvert-gpu-emul --example host -- FOLDER [ROUNDS]
//! ```
//!
//! *Read* is the work of the loader's threads beforehand; *submit* is the rest for the submitting
//! thread, planning and copying to pinned memory: for raw, prepared and stored images.
#![allow(clippy::print_stdout, reason = "a measurement for people")]

use fdconvert_gpu::{
    Crop, Driver, Gpu, Limits, Order, Output, Plan, Prepared, Request, SampleType, Store, Tensor,
};
use fdconvert_gpu_emul::FakeDriver;
use fdconvert_jpeg::{DEFAULT_GRID_BITS, stored_entry_points};
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

const OUTPUT: Output = Output::Tensor(Tensor {
    width: 224,
    height: 224,
    sample_type: SampleType::F16,
    order: Order::Nchw,
    mean: [0.0; 3],
    deviation: [1.0; 3],
});

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder of JPEGs")?);
    let rounds = arguments.next().and_then(|it| it.to_str()?.parse().ok()).unwrap_or(7);
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    let images: Vec<(Vec<u8>, Vec<u8>)> = files
        .into_iter()
        .filter_map(|bytes| Some((stored_entry_points(&bytes, DEFAULT_GRID_BITS).ok()?, bytes)))
        .map(|(entry_points, bytes)| (bytes, entry_points))
        .collect();
    let n_bytes: usize = images.iter().map(|(bytes, _)| bytes.len()).sum();
    let n_images = images.len().max(1);
    println!("{n_images} images of {} bytes, on average", n_bytes / n_images);
    let read = |(bytes, entry_points): &(Vec<u8>, Vec<u8>)| {
        Prepared::new(bytes, Some(entry_points), Limits::DEFAULT)
    };
    let prepared = images.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let gpu = Gpu::open(&Driver::load(Some(FakeDriver::path()))?, 0)?;
    let mut store = Store::new(&gpu, 1 << 30, Limits::DEFAULT)?;
    let files: Vec<_> =
        prepared.iter().zip(&images).map(|(it, (bytes, _))| (it, &bytes[..])).collect();
    let stored: Vec<_> = store.add_prepared(&files)?.into_iter().flatten().collect();
    let crop = Crop { left: 0.2, top: 0.2, width: 0.6, height: 0.6 };
    let cases = [
        images.iter().map(|(bytes, it)| Request::whole(bytes, Some(it))).collect::<Vec<_>>(),
        files.iter().map(|(it, bytes)| Request::prepared(it, bytes)).collect(),
        stored.iter().map(Request::stored).collect(),
    ]
    .map(|requests| requests.into_iter().map(|it| Request { crop, ..it }).collect::<Vec<_>>());
    let mut slab = Vec::new();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        let began = Instant::now();
        std::hint::black_box(images.iter().filter_map(|it| read(it).ok()).count());
        times[0].push(began.elapsed());
        for (requests, times) in cases.iter().zip(&mut times[1..]) {
            let began = Instant::now();
            let plan = Plan::new(requests, OUTPUT, Limits::DEFAULT);
            slab.resize(slab.len().max(plan.upload_bytes() as usize), 0);
            plan.fill(requests, &mut slab, 0);
            times.push(began.elapsed());
        }
    }
    println!("| read | submit: as they are | submit: read before | submit: stored |");
    println!("|---|---|---|---|");
    let medians = times.map(|mut times| {
        times.sort();
        times.get(times.len() / 2).map_or(0.0, |it| it.as_secs_f64() * 1e6 / n_images as f64)
    });
    println!("| {} |", medians.map(|it| format!("{it:.1}")).join(" | "));
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<Vec<u8>>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(fs::read(path)?);
        }
    }
    Ok(())
}
