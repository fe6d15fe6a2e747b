//! Installs the files of a release where nothing is, as their users would, and packs a dataset.
//!
//! Each way of installing gets a Debian or Ubuntu of its own, made by debootstrap (which takes root),
//! or an environment of a Python on this machine. What comes from a registry is fetched before the
//! network is taken away, where a way promises to do without.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use super::folders;
use crate::{
    failure::{Context, Result, fail},
    shell,
    workspace::Workspace,
};

mod ways;

use ways::{System, Way};

/// Install the files of a release in clean systems, and pack a dataset there.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Folder with the files.
    #[arg(long)]
    from: PathBuf,
    /// Ways of installing, each in a system of its own; takes root and debootstrap.
    #[arg(long, value_delimiter = ',')]
    ways: Vec<Way>,
    /// Pythons of this machine to install the wheel for, without NumPy and with it.
    #[arg(long, value_delimiter = ',')]
    pythons: Vec<PathBuf>,
}

/// Last commands of every way: from nothing to a dataset that was verified.
const TOUR: &str = "\
fdconvert --version
fdconvert sample photos
fdconvert pack photos photos.beton
fdconvert verify photos.beton --deep
";

/// A batch, without other packages or as NumPy sees it.
const BATCH: &str = "\
import sys, fdconvert
images, labels = next(iter(fdconvert.Loader('photos.beton', batch_size=4, size=64)))
print(sys.version.split()[0], images.shape, memoryview(labels).tolist())
try:
    import numpy
except ImportError:
    print('without NumPy')
else:
    print('NumPy', numpy.__version__, numpy.asarray(images).mean())
";

pub(super) fn run(options: &Options) -> Result<()> {
    let from = options.from.canonicalize().context(format_args!("{}", options.from.display()))?;
    let target = Workspace::here()?.target()?.join("release-install");
    folders::make(&target)?;
    let mut seconds = Vec::new();
    for way in &options.ways {
        let start = Instant::now();
        let installing = system(*way, &from, &target)?;
        seconds.push((way.to_string(), start.elapsed().as_secs_f64(), installing));
    }
    for python in &options.pythons {
        let start = Instant::now();
        let installing = environment(python, &from, &target)?;
        seconds.push((python.display().to_string(), start.elapsed().as_secs_f64(), installing));
    }
    println!("\nrelease: seconds from nothing, and of these installing and packing:");
    for (name, all, installing) in seconds {
        println!("release: {all:8.1} {installing:8.1}  {name}");
    }
    Ok(())
}

/// Installs in a system that has only what `debootstrap --variant=minbase` brings. Returns the
/// seconds from when all that is fetched was there.
fn system(way: Way, from: &Path, target: &Path) -> Result<f64> {
    let System { suite, mirror, components, script: setup } = way.system();
    let base = target.join(suite);
    if !base.join("etc/debian_version").is_file() {
        folders::remove(&base)?;
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", "--include=ca-certificates", "--components"]);
        shell::run(debootstrap.args([components, suite]).arg(&base).args([mirror, setup]))?;
    }
    let root = target.join(format!("{way}"));
    folders::remove(&root)?;
    shell::run(Command::new("cp").arg("-a").arg(&base).arg(&root))?;
    // What this machine trusts and asks for names.
    for file in ["etc/ssl/certs/ca-certificates.crt", "etc/resolv.conf", "etc/hosts"] {
        let _not_everywhere = fs::copy(Path::new("/").join(file), root.join(file));
    }
    let files = root.join("release");
    folders::make(&files)?;
    for name in folders::names(from)? {
        folders::copy(&from.join(&name), &files.join(&name))?;
    }
    script(&root, &way.fetch(), false)?;
    let start = Instant::now();
    script(&root, &format!("{}{TOUR}", way.install()), way.is_offline())?;
    let installing = start.elapsed().as_secs_f64();
    folders::remove(&root)?;
    Ok(installing)
}

/// Runs commands in another root, each printed before it runs.
fn script(root: &Path, commands: &str, is_offline: bool) -> Result<()> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork"]);
    if is_offline {
        command.arg("--net");
    }
    command.arg("chroot").arg(root).args(["/usr/bin/env", "-i", "HOME=/root", "LC_ALL=C.UTF-8"]);
    command.args(["PATH=/root/bin:/root/.cargo/bin:/usr/sbin:/usr/bin:/sbin:/bin"]);
    command.args([
        "DEBIAN_FRONTEND=noninteractive",
        "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
    ]);
    command.args(["PIP_CERT=/etc/ssl/certs/ca-certificates.crt"]);
    let commands = format!("mount -t proc proc /proc\ncd /root\n{commands}");
    shell::run(command.args(["/bin/sh", "-eux", "-c", &commands]))
}

/// Installs the wheel for a Python of this machine, twice: alone, and with NumPy.
fn environment(python: &Path, from: &Path, target: &Path) -> Result<f64> {
    let name = format!("manylinux_2_28_{}.whl", std::env::consts::ARCH);
    let wheel = folders::names(from)?.into_iter().find(|it| it.ends_with(&name));
    let wheel = from.join(wheel.context(format_args!("{} has no {name}", from.display()))?);
    let start = Instant::now();
    for with_numpy in [false, true] {
        let folder = target.join("environment");
        folders::remove(&folder)?;
        shell::run(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
        let pip = |arguments: &[&str]| {
            let mut pip = Command::new(folder.join("bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            shell::run(pip.args(arguments))
        };
        pip(&["--no-index", &wheel.to_string_lossy()])?;
        if with_numpy {
            pip(&["--only-binary", ":all:", "numpy"])?;
        }
        let mut tour = Command::new("/bin/sh");
        tour.args(["-eux", "-c", TOUR]).current_dir(&folder);
        let others = std::env::var("PATH").unwrap_or_default();
        tour.env("PATH", format!("{}:{others}", folder.join("bin").display()));
        shell::run(&mut tour)?;
        let mut batch = Command::new(folder.join("bin/python"));
        let said = shell::output(batch.args(["-P", "-c", BATCH]).current_dir(&folder))?;
        print!("{said}");
        if said.contains("without NumPy") == with_numpy {
            return fail(format!("{}: the environment is not its own", python.display()));
        }
    }
    Ok(start.elapsed().as_secs_f64())
}
