//! The list of what a wheel is made of.
//!
//! Maturin writes it into the wheel, in CycloneDX, and names our own crates by the folder that they
//! were built in. This takes the folder out, by the tool that packs wheels and renews their records.

use std::path::Path;
use std::{fs, process::Command};

use super::{checkout::Checkout, folders, tools::Tools};
use crate::{
    failure::{Context, Result, fail},
    shell,
};

/// Packs the wheel again into the files of the release, with lists that name no folder.
pub(super) fn without_folders(checkout: &Checkout, wheel: &Path, tools: &Tools) -> Result<()> {
    let folder = wheel.with_extension("unpacked");
    let tool = || {
        let mut command = Command::new(tools.program("python"));
        command.args(["-m", "wheel"]).env("SOURCE_DATE_EPOCH", checkout.epoch());
        command
    };
    shell::output(tool().arg("unpack").arg(wheel).arg("--dest").arg(&folder))?;
    let unpacked = folder.join(checkout.name());
    let lists = unpacked.join(format!("{}.dist-info/sboms", checkout.name()));
    let names = folders::names(&lists)?;
    if names.is_empty() {
        return fail(format!("{} has no list of what it is made of", wheel.display()));
    }
    let ours = format!("path+file://{}", checkout.source().display());
    for name in names {
        let file = lists.join(name);
        let text =
            fs::read_to_string(&file).context(format_args!("cannot read {}", file.display()))?;
        let text = text.replace(&ours, "path+file:///fdconvert");
        fs::write(&file, text).context(format_args!("cannot write {}", file.display()))?;
    }
    shell::output(tool().arg("pack").arg(&unpacked).arg("--dest-dir").arg(checkout.files()))
        .map(drop)
}
