//! The source packages: what pip builds with crates from the registry, and the same with the crates
//! inside, which builds without a network.

use std::{fs, path::Path, process::Command};

use super::{checkout::Checkout, folders, tools::Tools, vendor};
use crate::{
    failure::{Context, Result},
    shell, workspace,
};

/// Says where the crates are.
const CONFIGURATION: &str = "\
# The crates lie in the folder vendor, for Linux only.
[source.crates-io]
replace-with = \"vendored-sources\"

[source.vendored-sources]
directory = \"vendor\"
";

/// Makes both.
pub(super) fn make(checkout: &Checkout, tools: &Tools) -> Result<()> {
    let mut maturin = checkout.command(&tools.program("maturin"), tools)?;
    shell::run(maturin.args(["sdist", "--out"]).arg(checkout.files()))?;
    let package = checkout.files().join(format!("{}.tar.gz", checkout.name()));

    let above = checkout.work().join("vendored");
    folders::make(&above)?;
    shell::output(Command::new("tar").arg("xf").arg(&package).arg("-C").arg(&above))?;
    let root = above.join(checkout.name());
    let mut cargo = checkout.command(Path::new(&workspace::cargo()), tools)?;
    cargo.current_dir(&root).args(["vendor", "--quiet", "--locked", "--versioned-dirs", "vendor"]);
    shell::output(&mut cargo)?;
    vendor::empty_what_linux_does_not_use(checkout, &root, tools)?;
    let folder = root.join(".cargo");
    folders::make(&folder)?;
    let file = folder.join("config.toml");
    fs::write(&file, CONFIGURATION).context(format_args!("cannot write {}", file.display()))?;
    // All that Cargo looks for is there: it finds its way with a home that is empty.
    let mut cargo = checkout.command(Path::new(&workspace::cargo()), tools)?;
    cargo.current_dir(&root).args(["metadata", "--locked", "--offline", "--format-version", "1"]);
    shell::output(cargo.env("CARGO_HOME", checkout.work().join("no-crates")))?;
    let to = checkout.files().join(format!("{}-vendored.tar.gz", checkout.name()));
    checkout.pack(&above, &checkout.name(), &to)
}
