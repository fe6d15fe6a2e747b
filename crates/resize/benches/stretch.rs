//! Compares the resize of a batch's rows with `fast_image_resize`, in one thread, in turns. `cargo
//! bench -p fdconvert-resize -- [avx2|avx512|neon]...` prints Markdown: the least time of all
//! repeats, and its ratio to the library's; without names, for all instructions of the processor.
//! The environment sets `REPEATS`.
//!
//! `ONLY=avx2` (or `portable`, the library) resizes and prints nothing, for programs that count
//! instructions: those of `REPEATS=2` less those of `REPEATS=1` are of one resize of each shape, or
//! of the one whose number is `SHAPE`. A recorded result is in `README.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use fdconvert_resize::{Instructions, Source, Stretcher};
use std::{env, hint::black_box, time::Instant};

/// A rectangle of an image of this size, and the size it gets.
struct Shape {
    name: &'static str,
    from: (u32, u32),
    rect: (f64, f64, f64, f64),
    to: (u32, u32),
}

const SHAPES: [Shape; 8] = [
    Shape { name: "crop", from: (500, 375), rect: (51.0, 33.0, 330.0, 290.0), to: (224, 224) },
    Shape {
        name: "small crop",
        from: (500, 375),
        rect: (20.0, 91.0, 170.0, 150.0),
        to: (224, 224),
    },
    Shape { name: "large crop", from: (500, 375), rect: (7.0, 3.0, 440.0, 360.0), to: (224, 224) },
    Shape { name: "centre", from: (500, 375), rect: (62.5, 0.0, 375.0, 375.0), to: (224, 224) },
    Shape { name: "half", from: (448, 448), rect: (0.0, 0.0, 448.0, 448.0), to: (224, 224) },
    Shape { name: "third", from: (672, 500), rect: (0.0, 0.0, 672.0, 500.0), to: (224, 167) },
    Shape { name: "256 to 224", from: (256, 256), rect: (0.0, 0.0, 256.0, 256.0), to: (224, 224) },
    Shape { name: "twice", from: (112, 112), rect: (0.0, 0.0, 112.0, 112.0), to: (224, 224) },
];

fn named(name: &str) -> Instructions {
    let mut all = Instructions::ALL.into_iter();
    all.find(|it| format!("{it:?}").eq_ignore_ascii_case(name)).unwrap()
}

fn noise((width, height): (u32, u32)) -> Vec<u8> {
    let mut state = 1u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as u8
    };
    (0..width * height * 3).map(next).collect()
}

fn resize(stretcher: &mut Stretcher, shape: &Shape, pixels: &[u8], out: &mut [u8]) {
    let view = (0, 0, shape.from.0, shape.from.1);
    let source = Source { pixels: black_box(pixels), size: shape.from, view, rect: shape.rect };
    stretcher.rgb(&source, shape.to, black_box(out)).unwrap();
}

fn main() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<usize>().unwrap());
    let (repeats, only_shape) = (number("REPEATS"), number("SHAPE"));
    let shapes = SHAPES.iter().enumerate();
    let shapes = shapes.filter(|(at, _)| only_shape.is_none_or(|only| only == *at));
    if let Ok(name) = env::var("ONLY") {
        let mut stretcher = Stretcher::with(named(&name));
        for (_, shape) in shapes {
            let pixels = noise(shape.from);
            let mut out = vec![0; (shape.to.0 * shape.to.1 * 3) as usize];
            for _ in 0..repeats.unwrap_or(1) {
                resize(&mut stretcher, shape, &pixels, &mut out);
            }
        }
        return;
    }
    let args: Vec<_> = env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let mut ways: Vec<_> = args.iter().map(|name| named(name)).collect();
    if ways.is_empty() {
        ways = Instructions::ALL.into_iter().filter(|it| it.are_here()).skip(1).collect();
    }
    ways.insert(0, Instructions::Portable);
    print!("| rectangle | to | fast_image_resize µs |");
    ways.iter().skip(1).for_each(|it| print!(" {it:?} µs | ratio |"));
    println!("\n|---|---|---:|{}", "---:|---:|".repeat(ways.len() - 1));
    let mut stretchers: Vec<_> = ways.iter().copied().map(Stretcher::with).collect();
    for (_, shape) in shapes {
        let pixels = noise(shape.from);
        let mut out = vec![0; (shape.to.0 * shape.to.1 * 3) as usize];
        let mut least = vec![f64::INFINITY; ways.len()];
        for _ in 0..repeats.unwrap_or(300) {
            for (stretcher, least) in stretchers.iter_mut().zip(&mut least) {
                let start = Instant::now();
                resize(stretcher, shape, &pixels, &mut out);
                *least = least.min(start.elapsed().as_secs_f64() * 1e6);
            }
        }
        let (_, _, width, height) = shape.rect;
        let (to_width, to_height) = shape.to;
        print!(
            "| {}, {width} x {height} | {to_width} x {to_height} | {:.0} |",
            shape.name, least[0]
        );
        least.iter().skip(1).for_each(|it| print!(" {it:.0} | {:.2} |", it / least[0]));
        println!();
    }
}
