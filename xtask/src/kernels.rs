//! The GPU's kernels under the address and undefined-behaviour sanitizers, on the CPU.

use std::{fs, process::Command};

use crate::{
    failure::{Context, Result},
    shell,
    workspace::Workspace,
};

/// Run the GPU's kernels on damaged data, with sanitizers (needs a C++ compiler that has them).
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of images to make and damage.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    images: u64,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let here = Workspace::here()?;
    let crates = here.root()?.join("crates");
    let folder = here.target()?.join("kernels");
    fs::create_dir_all(&folder).context(format_args!("cannot make {}", folder.display()))?;
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let programs = [
        ("damage", options.images),
        ("fractal", options.images / 10),
        ("rows", options.images / 10),
    ];
    for (name, images) in programs {
        let program = folder.join(name);
        let mut build = Command::new(&compiler);
        build.args(["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-ffp-contract=off"]);
        build.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"]);
        let source = crates.join(format!("gpu-emul/fuzz/{name}.cpp"));
        build.arg(crates.join("gpu/kernels")).arg(source);
        shell::run(build.arg("-o").arg(&program))?;
        let mut damage = Command::new(program);
        shell::run(damage.arg(options.seed.to_string()).arg(images.to_string()))?;
    }
    Ok(())
}
