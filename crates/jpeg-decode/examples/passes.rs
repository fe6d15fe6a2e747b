//! Decodes all JPEGs of folders a number of times, with one decoder: for counting instructions,
//! where the difference of two numbers of passes is what a pass takes. The arguments are `turbo` or
//! the name of an instruction set, `index` or `none`, the number of passes, and the folders. The
//! environment sets the images of a folder (`LIMIT`), `SHRINK` and `STREAMS`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#[path = "../tests/jpeg_decode/common/turbo.rs"]
mod turbo;

use fdconvert_jpeg::stored_entry_points;
use fdconvert_jpeg_decode::{Decoder, Entropy, Header, Instructions, Options, Scale};
use fdconvert_testkit::workload::files_below;
use std::hint::black_box;

fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [name, index, passes, folders @ ..] = &args[..] else {
        println!("passes DECODER index|none PASSES FOLDER...");
        return;
    };
    let number = |name| std::env::var(name).ok().map(|it| it.parse::<usize>().unwrap());
    let shrink = number("SHRINK").unwrap_or(1);
    let scale = match shrink {
        1 => Scale::Whole,
        2 => Scale::Half,
        4 => Scale::Quarter,
        _ => Scale::Eighth,
    };
    let mut images = Vec::new();
    for folder in folders {
        let files = files_below(folder.as_ref()).unwrap().into_iter();
        let read = files.map(|file| std::fs::read(file).unwrap());
        let supported = read.filter(|bytes| Header::read(bytes).is_ok());
        images.extend(supported.take(number("LIMIT").unwrap_or(usize::MAX)));
    }
    let with_index = index == "index";
    let entropy = number("STREAMS").map(Entropy::Streams);
    let options = Options { entropy, scale, ..Options::default() };
    // What a caller knows before, so that it is counted for neither decoder.
    let prepared = images.iter().map(|bytes| {
        let entry_points = with_index.then(|| stored_entry_points(bytes, 2048).unwrap());
        (Header::read(bytes).unwrap().n_bytes(&options) as usize, entry_points)
    });
    let prepared: Vec<_> = prepared.collect();
    let find = |it: &Instructions| format!("{it:?}").eq_ignore_ascii_case(name);
    let decoder = Instructions::ALL.into_iter().find(find).and_then(Decoder::with);
    let (mut decoder, mut turbo, mut out) = (decoder, turbo::Turbo::new(), Vec::new());
    let mut n_pixels = 0;
    for _ in 0..passes.parse().unwrap() {
        for (bytes, (n_bytes, entry_points)) in images.iter().zip(&prepared) {
            out.resize(*n_bytes, 0);
            match &mut decoder {
                Some(decoder) => {
                    let options = Options { entry_points: entry_points.as_deref(), ..options };
                    decoder.decode(bytes, &options, &mut out).unwrap();
                }
                None => assert!(turbo.decode(bytes, shrink as u32, 3, &mut out)),
            }
            n_pixels += out.len() / 3;
            black_box(&mut out);
        }
    }
    let by = decoder.map(|it| it.instructions());
    println!("{} images, {n_pixels} pixels, {by:?}", images.len());
}
