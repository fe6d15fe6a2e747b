//! Twelve hot paths, for `cargo xtask gate`, which counts their instructions.
//!
//! ```text
//! hot_paths list                                   names of the paths
//! hot_paths processor                              prints the processor features that select code
//! hot_paths prepare FIXTURES INPUTS                makes the datasets that the paths read
//! hot_paths run PATH INPUTS OUT REPEATS [PLANTED]  runs a path REPEATS times; OUT is an empty folder
//! ```
//!
//! `PLANTED` is a number of idle turns added to each repeat: a slowdown of a known size, for
//! testing the gate. The path `idle` does nothing else, and shows the cost of a turn. Everything
//! happens on one thread, except for the two that paths need: the one that commits a shard, and the
//! one that decodes for the loader.
//!
//! Deliberately absent: the library `fdconvert` and the formats that no path uses, which would
//! double the compile time.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a task")]

mod inputs;
mod paths;

use std::{env, hint::black_box, process::ExitCode};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const USAGE: &str =
    "list, processor, prepare FIXTURES INPUTS, or run PATH INPUTS OUT REPEATS [PLANTED]";

fn main() -> ExitCode {
    match answer(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hot_paths: {error}");
            ExitCode::FAILURE
        }
    }
}

fn answer(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["list"] => paths::ALL.iter().for_each(|(name, _)| println!("{name}")),
        ["processor"] => println!("{}", processor()),
        ["prepare", fixtures, inputs] => inputs::prepare(fixtures.as_ref(), inputs.as_ref())?,
        ["run", path, inputs, out, repeats] => run(path, [inputs, out], repeats.parse()?, 0)?,
        ["run", path, inputs, out, repeats, planted] => {
            run(path, [inputs, out], repeats.parse()?, planted.parse()?)?;
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

fn run(path: &str, [inputs, out]: [&str; 2], repeats: u64, planted: u64) -> Result<()> {
    let take = paths::find(path).ok_or_else(|| format!("no path is called {path}"))?;
    for repeat in 0..repeats {
        take(inputs.as_ref(), out.as_ref(), repeat)?;
        for turn in 0..planted {
            black_box(turn);
        }
    }
    Ok(())
}

/// Returns the architecture and the features of the processor that select code: if they differ, so
/// do the instructions.
fn processor() -> String {
    let mut found = vec![env::consts::ARCH];
    #[cfg(target_arch = "x86_64")]
    {
        let features = [
            ("sse4.1", is_x86_feature_detected!("sse4.1")),
            ("pclmulqdq", is_x86_feature_detected!("pclmulqdq")),
            ("avx2", is_x86_feature_detected!("avx2")),
            ("fma", is_x86_feature_detected!("fma")),
            ("bmi2", is_x86_feature_detected!("bmi2")),
            ("sha", is_x86_feature_detected!("sha")),
            ("avx512f", is_x86_feature_detected!("avx512f")),
        ];
        found.extend(features.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name));
    }
    found.join(" ")
}
