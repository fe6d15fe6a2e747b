//! One build of a commit, in folders of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{folders, machine::Machine, sbom, sources, tools::Tools};
use crate::{
    failure::{Context, Result, fail},
    shell, workspace,
};

/// The oldest C library that wheels and the command are for.
pub(super) const GLIBC: (u32, u32) = (2, 28);

/// Prefixes of the variables that a build sets itself, so that the environment does not get into
/// the bytes.
const UNSET: [&str; 4] = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "MATURIN_"];

/// The sources of the commit, and where things are built from them.
pub(super) struct Checkout {
    source: PathBuf,
    /// Results of cargo, in a folder for each of the two that name linkers.
    target: PathBuf,
    cargo_home: PathBuf,
    work: PathBuf,
    files: PathBuf,
    version: String,
    /// The time of the commit, in seconds.
    epoch: String,
}

impl Checkout {
    /// Lays the sources out. What was built of the same commit before is used again.
    pub(super) fn new(root: &Path, folder: &Path, cargo_home: Option<&str>) -> Result<Self> {
        let git = |args: &[&str]| shell::output(Command::new("git").args(args).current_dir(root));
        let commit = git(&["rev-parse", "HEAD"])?;
        let epoch = git(&["log", "-1", "--format=%ct"])?.trim().to_string();
        let stamp = folder.join("commit");
        if fs::read_to_string(&stamp).is_ok_and(|built| built == commit) {
            for part in ["source", "work", "files"] {
                folders::remove(&folder.join(part))?;
            }
        } else {
            folders::remove(folder)?;
        }
        for part in ["source", "work", "files"] {
            folders::make(&folder.join(part))?;
        }
        let tar = folder.join("commit.tar");
        git(&["archive", "--format=tar", "--output", &text(&tar)?, "HEAD"])?;
        let source = folder.join("source");
        shell::output(Command::new("tar").arg("xf").arg(&tar).arg("-C").arg(&source))?;
        fs::write(&stamp, commit).context(format_args!("cannot write {}", stamp.display()))?;
        let home = match cargo_home {
            Some(name) => folder.join(name),
            None => users_cargo_home()?,
        };
        Ok(Self {
            version: version(&source)?,
            source,
            target: folder.join("target"),
            cargo_home: home,
            work: folder.join("work"),
            files: folder.join("files"),
            epoch,
        })
    }

    pub(super) fn files(&self) -> &Path {
        &self.files
    }

    pub(super) fn source(&self) -> &Path {
        &self.source
    }

    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    pub(super) fn epoch(&self) -> &str {
        &self.epoch
    }

    /// The name that files begin with.
    pub(super) fn name(&self) -> String {
        format!("fdconvert-{}", self.version)
    }

    /// The command of a machine, as it was linked.
    pub(super) fn linked(&self, machine: Machine) -> PathBuf {
        self.target.join("command").join(machine.triple()).join("release/fdconvert")
    }

    /// A command in an environment in which the folders of this build have fixed names.
    pub(super) fn command(&self, program: &Path, tools: &Tools) -> Result<Command> {
        self.builder(program, "other", tools)
    }

    /// The same, which builds into a folder of its own: maturin and cargo-zigbuild name different
    /// linkers, and would build what the other one has built over and over.
    fn builder(&self, program: &Path, target: &str, tools: &Tools) -> Result<Command> {
        let target = self.target.join(target);
        let named =
            [(&self.source, "/fdconvert"), (&self.cargo_home, "/cargo"), (&target, "/target")];
        let (mut rust, mut c) = (Vec::new(), Vec::new());
        for (folder, name) in named {
            let folder = text(folder)?;
            if folder.contains(char::is_whitespace) {
                return fail(format!("C compilers take no folder with a blank: {folder}"));
            }
            rust.push(format!("--remap-path-prefix={folder}={name}"));
            c.push(format!("-ffile-prefix-map={folder}={name}"));
        }
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if UNSET.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command
            .current_dir(&self.source)
            .env_remove("RUSTFLAGS")
            .env("PATH", tools.path()?)
            .env("CARGO_HOME", &self.cargo_home)
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}"))
            .env("CFLAGS", c.join(" "))
            .env("CXXFLAGS", c.join(" "))
            .env("SOURCE_DATE_EPOCH", &self.epoch);
        Ok(command)
    }

    /// Builds the wheel of a machine, which serves every Python from 3.11 on.
    pub(super) fn wheel(&self, machine: Machine, tools: &Tools) -> Result<()> {
        let (major, minor) = GLIBC;
        let out = self.work.join(format!("wheel-{machine}"));
        let mut maturin = self.builder(&tools.program("maturin"), "wheel", tools)?;
        maturin
            .args(["build", "--release", "--locked", "--zig", "--target", &machine.triple()])
            .args(["--compatibility", &format!("manylinux_{major}_{minor}"), "--out"])
            .arg(&out);
        shell::run(&mut maturin)?;
        sbom::without_folders(self, &folders::only_file(&out)?, tools)
    }

    /// Builds the command of a machine, with the list of what it is made of inside.
    pub(super) fn program(&self, machine: Machine, tools: &Tools) -> Result<()> {
        let (major, minor) = GLIBC;
        let mut cargo = self.builder(Path::new(&workspace::cargo()), "command", tools)?;
        cargo.args(["auditable", "zigbuild", "--release", "--locked", "--target"]);
        cargo.arg(format!("{}.{major}.{minor}", machine.triple()));
        // With the package of the wheel, so that libraries have the same features and are built once.
        cargo.args(["--package", "fdconvert-cli", "--package", "fdconvert-python"]);
        cargo.args(["--bin", "fdconvert"]);
        shell::run(&mut cargo)?;
        let name = format!("{}-{}", self.name(), machine.triple());
        let folder = self.work.join(&name);
        folders::make(&folder)?;
        folders::copy(&self.linked(machine), &folder.join("fdconvert"))?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            folders::copy(&self.source.join(file), &folder.join(file))?;
        }
        self.pack(&self.work, &name, &self.files.join(format!("{name}.tar.gz")))
    }

    /// Makes the source package, and the one that has all crates.
    pub(super) fn source_packages(&self, tools: &Tools) -> Result<()> {
        sources::make(self, tools)
    }

    /// Packs a folder so that only names and contents count.
    pub(super) fn pack(&self, above: &Path, name: &str, to: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"])
            .args(["--mode=u+rw,go=rX,a-s", "--use-compress-program=gzip -n9"])
            .arg(format!("--mtime=@{}", self.epoch))
            .arg("-C")
            .arg(above)
            .arg("-cf")
            .args([to, Path::new(name)]);
        shell::output(&mut tar).map(drop)
    }

    /// Writes `SHA256SUMS`, which `sha256sum --check` reads.
    pub(super) fn sums(&self) -> Result<()> {
        let mut names: Vec<_> = folders::names(&self.files)?;
        names.sort();
        let mut sum = Command::new("sha256sum");
        let sums = shell::output(sum.args(names).current_dir(&self.files))?;
        let file = self.files.join("SHA256SUMS");
        fs::write(&file, sums).context(format_args!("cannot write {}", file.display()))
    }

    /// Copies what was built to where it was asked for.
    pub(super) fn publish(&self, out: &Path) -> Result<()> {
        for name in folders::names(&self.files)? {
            folders::copy(&self.files.join(&name), &out.join(&name))?;
        }
        Ok(())
    }
}

fn text(path: &Path) -> Result<String> {
    path.to_str().map(String::from).context(format_args!("{} is not UTF-8", path.display()))
}

fn users_cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    Ok(PathBuf::from(home).join(".cargo"))
}

/// The version of the workspace.
fn version(source: &Path) -> Result<String> {
    let manifest = source.join("Cargo.toml");
    let here = workspace::Workspace::of(&manifest)?;
    here.version("fdconvert-cli").context("the workspace has no package fdconvert-cli")
}
