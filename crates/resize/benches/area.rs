//! The area filter with each set of instructions, in one thread, in turns. `cargo bench -p
//! fdconvert-resize --bench area -- [portable|neon|avx2|avx512]...` prints Markdown: the least time
//! of all repeats, in µs; without names, of all that the processor has. The environment sets
//! `REPEATS`.
//!
//! `ONLY=neon` resizes and prints nothing, for programs that count instructions, as in `stretch.rs`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use fdconvert_core::Pixels;
use fdconvert_resize::{Filter, Instructions, Resizer};
use std::{env, hint::black_box, time::Instant};

const SHAPES: [((u32, u32), (u32, u32)); 4] = [
    ((500, 375), (341, 256)),
    ((500, 375), (256, 192)),
    ((500, 375), (480, 360)),
    ((512, 384), (256, 192)),
];

fn main() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<usize>().unwrap());
    let (repeats, only_shape) = (number("REPEATS"), number("SHAPE"));
    let named = |name: &str| {
        let mut all = Instructions::ALL.into_iter();
        all.find(|it| format!("{it:?}").eq_ignore_ascii_case(name)).unwrap()
    };
    let only = env::var("ONLY").ok();
    let args = env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let mut ways: Vec<_> = args.chain(only.clone()).map(|name| named(&name)).collect();
    if ways.is_empty() {
        ways = Instructions::ALL.into_iter().filter(|it| it.are_here()).collect();
    }
    let mut lines = vec![format!("|---|---|{}", "---:|".repeat(ways.len()))];
    for (_, (from, to)) in
        SHAPES.iter().enumerate().filter(|(at, _)| only_shape.is_none_or(|only| only == *at))
    {
        let data = (0..from.0 * from.1 * 3)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let pixels = Pixels { width: from.0, height: from.1, channels: 3, data };
        let mut resizers: Vec<_> = ways.iter().map(|it| Resizer::with(*it).unwrap()).collect();
        let mut least = vec![f64::INFINITY; ways.len()];
        let mut out = Vec::new();
        for _ in 0..repeats.unwrap_or(300) {
            for (resizer, least) in resizers.iter_mut().zip(&mut least) {
                let start = Instant::now();
                resizer.resize("k", black_box(&pixels), *to, Filter::Area, &mut out).unwrap();
                black_box(&out);
                *least = least.min(start.elapsed().as_secs_f64() * 1e6);
            }
        }
        let times: String = least.iter().map(|it| format!(" {it:.0} |")).collect();
        lines.push(format!("| {} x {} | {} x {} |{times}", from.0, from.1, to.0, to.1));
    }
    if only.is_none() {
        let names: String = ways.iter().map(|it| format!(" {it:?} |")).collect();
        println!("| from | to |{names}\n{}", lines.join("\n"));
    }
}
