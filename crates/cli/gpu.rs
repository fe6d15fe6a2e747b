//! `fdconvert gpu`.
use crate::{Outcome, Session, common::Common, output};
use clap::{Args, Subcommand};
use fdconvert_core::{Result, Shown};
use fdconvert_gpu::{Backend, Device, EngineFound, GpuError, Probe, engines, probe};
use serde_json::{Map, Value, json};
use std::{fmt::Write, path::PathBuf};

#[derive(Debug, Args)]
pub(crate) struct GpuArgs {
    #[command(subcommand)]
    pub(crate) command: GpuCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GpuCommand {
    /// Show the driver, the GPUs, and what would decode JPEGs and why; no GPU is not an error
    #[command(before_help = "Example:\n  fdconvert gpu probe --json")]
    Probe(ProbeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Library to load as the CUDA driver, instead of the installed one
    #[arg(long, value_name = "FILE")]
    pub(crate) driver: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &GpuArgs, session: &Session) -> Result<Outcome> {
    match &args.command {
        GpuCommand::Probe(args) => run_probe(args, session),
    }
}

fn run_probe(args: &ProbeArgs, session: &Session) -> Result<Outcome> {
    let found = probe(args.driver.as_deref());
    let has_library = found.backends.contains(&Backend::NvJpeg);
    let tried = usable(&found).filter(|_| has_library).map_or_else(Vec::new, |device| {
        // An error here has been reported, or occurs again with each engine.
        engines(args.driver.as_deref(), None, device.ordinal).unwrap_or_default()
    });
    if args.common.json {
        session.print_json("gpu-probe", as_json(&found, &tried))?;
    } else {
        session.print(&as_text(&found, &tried))?;
    }
    // A missing GPU is a valid answer.
    Ok(Outcome::Complete)
}

/// Returns the first GPU that the kernels run on.
fn usable(found: &Probe) -> Option<&Device> {
    found.devices.iter().find(|device| device.is_supported())
}

fn because(found: &Probe) -> String {
    match (&found.driver, usable(found), found.devices.first()) {
        (_, Some(device), _) => format!(
            "GPU {} can decode baseline JPEGs that have entry points; the CPU does all others",
            device.ordinal
        ),
        // The error itself is printed elsewhere, with the attempts.
        (Err(GpuError::NoDriver { .. }), ..) => "there is no CUDA driver".into(),
        (Err(error), ..) => error.to_string(),
        (Ok(_), None, Some(device)) => {
            let (major, minor) = device.compute_capability;
            format!("{} has compute capability {major}.{minor}, and 7.5 is needed", device.name)
        }
        (Ok(_), None, None) => GpuError::NoDevice.to_string(),
    }
}

fn name(backend: &Backend) -> &'static str {
    match backend {
        Backend::EntryPoints => "entry_points",
        Backend::NvJpeg => "nvjpeg",
        Backend::Cpu => "cpu",
        _ => "unknown",
    }
}

fn version(found: &Probe) -> Option<String> {
    let version = found.driver.as_ref().ok()?;
    Some(format!("{}.{}", version / 1000, version % 1000 / 10))
}

fn library_version(found: &Probe) -> Option<String> {
    let (major, minor, patch) = found.library.as_ref().ok()?;
    Some(format!("{major}.{minor}.{patch}"))
}

fn as_json(found: &Probe, tried: &[EngineFound]) -> Map<String, Value> {
    let backends: Vec<_> = found.backends.iter().map(name).collect();
    let devices: Vec<_> = found.devices.iter().map(device_json).collect();
    let mut fields = Map::new();
    fields.insert("driver".into(), json!(version(found)));
    fields.insert("missing".into(), json!(found.driver.as_ref().err().map(ToString::to_string)));
    fields.insert("devices".into(), json!(devices));
    fields.insert("nvjpeg".into(), json!(library_version(found)));
    let missing = found.library.as_ref().err().map(ToString::to_string);
    fields.insert("nvjpeg_missing".into(), json!(missing));
    let tried: Vec<_> = tried.iter().map(engine_json).collect();
    fields.insert("nvjpeg_engines".into(), json!(tried));
    fields.insert("used".into(), json!(backends.first()));
    fields.insert("backends".into(), json!(backends));
    fields.insert("gpu".into(), json!(usable(found).map(|device| device.ordinal)));
    fields.insert("because".into(), json!(because(found)));
    fields
}

fn engine_json(found: &EngineFound) -> Value {
    json!({
        "name": found.engine.name(),
        "missing": found.started.as_ref().err().map(ToString::to_string),
        "decoders": found.hardware.map(|(decoders, _)| decoders),
        "cores_per_decoder": found.hardware.map(|(_, cores)| cores),
    })
}

fn engine_text(found: &EngineFound) -> String {
    let name = found.engine.name();
    match (&found.started, found.hardware) {
        (Err(error), _) => format!("          engine {name}: none: {error}"),
        (Ok(()), Some((decoders, cores))) => {
            format!("          engine {name}: {decoders} decoders with {cores} cores each")
        }
        (Ok(()), None) => format!("          engine {name}: starts"),
    }
}

fn device_json(device: &Device) -> Value {
    let (major, minor) = device.compute_capability;
    json!({
        "ordinal": device.ordinal,
        "name": device.name,
        "supported": device.is_supported(),
        "compute_capability": format!("{major}.{minor}"),
        "memory_bytes": device.memory_bytes,
        "multiprocessors": device.n_multiprocessors,
        "copy_engines": device.n_copy_engines,
        "clock_khz": device.clock_khz,
        "memory_clock_khz": device.memory_clock_khz,
        "memory_bus_bits": device.memory_bus_bits,
        "cache_bytes": device.cache_bytes,
    })
}

fn as_text(found: &Probe, tried: &[EngineFound]) -> String {
    let mut text = match (&found.driver, version(found)) {
        (Err(error), _) => format!("driver    none: {}\n", Shown(error)),
        (Ok(_), version) => format!("driver    for CUDA {}\n", version.unwrap_or_default()),
    };
    for device in &found.devices {
        let (major, minor) = device.compute_capability;
        let _infallible = writeln!(
            text,
            "GPU {}     {}: compute capability {major}.{minor}, {} multiprocessors, {}{}",
            device.ordinal,
            device.name,
            device.n_multiprocessors,
            output::size(device.memory_bytes),
            if device.is_supported() { "" } else { " (too old)" },
        );
    }
    let _infallible = match (&found.library, library_version(found)) {
        (Err(error), _) => writeln!(text, "nvJPEG    none: {}", Shown(error)),
        (Ok(_), version) => writeln!(text, "nvJPEG    {}", version.unwrap_or_default()),
    };
    for found in tried {
        let _infallible = writeln!(text, "{}", engine_text(found));
    }
    // Keys and values of JSON keep the older name.
    let shown = |backend: &Backend| {
        if *backend == Backend::EntryPoints { "entry points" } else { name(backend) }
    };
    let backends: Vec<_> = found.backends.iter().map(shown).collect();
    let best = backends.first().copied().unwrap_or_default();
    let _infallible = writeln!(text, "backends  {}", backends.join(", "));
    let _infallible = writeln!(text, "used      {best}: {}", because(found));
    text
}
