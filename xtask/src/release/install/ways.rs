//! The ways of installing: in which system, what is fetched, what is typed.

use std::fmt;

/// A way of installing.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Way {
    /// The wheel, by pip, in Debian 12 (Python 3.11).
    Wheel,
    /// The wheel, by pip, in Debian 13 (Python 3.13).
    WheelDebian13,
    /// The wheel, by pip, in Ubuntu 24.04 (Python 3.12).
    WheelUbuntu,
    /// The command as a binary, in Debian 12.
    Binary,
    /// The command as a binary, in Ubuntu 22.04.
    BinaryUbuntu,
    /// The source package with its crates, by pip, without a network, in Debian 13.
    Vendored,
    /// The source package, by `cargo install`, in Debian 13.
    Cargo,
}

const PYTHON: &str = "\
apt-get update -q
apt-get install -q -y --no-install-recommends python3-venv
";

/// Debian 13 has rustup; its own Rust is too old.
const RUST: &str = "\
apt-get update -q
apt-get install -q -y --no-install-recommends rustup gcc g++ libc6-dev cmake make nasm python3-venv
rustup set profile minimal
rustup default stable
";

const MATURIN: &str = "\
python3 -m venv venv
venv/bin/pip download --quiet --dest wheels 'maturin>=1.9.4,<2'
";

/// A system that debootstrap makes.
#[derive(Clone, Copy)]
pub(super) struct System {
    pub(super) suite: &'static str,
    pub(super) mirror: &'static str,
    /// Ubuntu has the environments of Python in `universe`.
    pub(super) components: &'static str,
    /// The script of debootstrap, which may be older than the suite.
    pub(super) script: &'static str,
}

const fn debian(suite: &'static str) -> System {
    System { suite, mirror: "http://deb.debian.org/debian", components: "main", script: "sid" }
}

/// By TLS, because Debian has no package of the keys that Ubuntu's archive is signed with.
const fn ubuntu(suite: &'static str) -> System {
    let mirror = "https://archive.ubuntu.com/ubuntu";
    System { suite, mirror, components: "main,universe", script: "jammy" }
}

impl Way {
    pub(super) fn system(self) -> System {
        match self {
            Way::Wheel | Way::Binary => debian("bookworm"),
            Way::WheelDebian13 | Way::Vendored | Way::Cargo => debian("trixie"),
            Way::WheelUbuntu => ubuntu("noble"),
            Way::BinaryUbuntu => ubuntu("jammy"),
        }
    }

    /// Returns true if installing does without a network.
    pub(super) fn is_offline(self) -> bool {
        self != Way::Cargo
    }

    /// Returns the commands that fetch what has to be there before: packages of the system, a
    /// compiler, maturin.
    pub(super) fn fetch(self) -> String {
        match self {
            Way::Wheel | Way::WheelDebian13 | Way::WheelUbuntu => PYTHON.into(),
            Way::Binary | Way::BinaryUbuntu => String::new(),
            Way::Cargo => RUST.into(),
            Way::Vendored => format!("{RUST}{MATURIN}"),
        }
    }

    pub(super) fn install(self) -> &'static str {
        match self {
            Way::Wheel | Way::WheelDebian13 | Way::WheelUbuntu => {
                "python3 -m venv venv\n\
                 venv/bin/pip install --no-index /release/*_x86_64.whl\n\
                 PATH=/root/venv/bin:$PATH\n"
            }
            Way::Binary | Way::BinaryUbuntu => {
                "mkdir bin\n\
                 tar xf /release/*-x86_64-unknown-linux-gnu.tar.gz\n\
                 cp fdconvert-*/fdconvert bin\n"
            }
            Way::Vendored => {
                "venv/bin/pip install --no-index --find-links wheels /release/*-vendored.tar.gz\n\
                 PATH=/root/venv/bin:$PATH\n"
            }
            Way::Cargo => {
                "rm /release/*-vendored.tar.gz\n\
                 tar xf /release/fdconvert-?.?.?.tar.gz\n\
                 cargo install --path fdconvert-*/ --locked\n"
            }
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Wheel => "wheel",
            Way::WheelDebian13 => "wheel-debian13",
            Way::WheelUbuntu => "wheel-ubuntu",
            Way::Binary => "binary",
            Way::BinaryUbuntu => "binary-ubuntu",
            Way::Vendored => "vendored",
            Way::Cargo => "cargo",
        })
    }
}
