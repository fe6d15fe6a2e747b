//! The servers and their versions.

use std::{fmt, path::Path, process::Command};

use super::install;

/// Another implementation of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// S3 on a folder, with signatures (crates.io).
    #[value(name = "s3s-fs")]
    S3s,
    /// S3 in memory, with a list of uploads (PyPI).
    Moto,
    /// Azure's blobs, with signatures (npm).
    Azurite,
    /// Google's objects, only for reading (PyPI).
    #[value(name = "fake-gcs-server")]
    Gcs,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Moto, Kind::S3s, Kind::Azurite, Kind::Gcs];

    /// Returns name and version, as in its registry.
    pub(super) fn version(self) -> &'static str {
        match self {
            Kind::S3s => "s3s-fs 0.14.1",
            Kind::Moto => "moto 5.2.5",
            Kind::Azurite => "azurite 3.35.0",
            Kind::Gcs => "fake-gcs-server 1.54.0",
        }
    }

    /// Returns the command that serves on a port and keeps its data in `data`, which is empty.
    pub(super) fn command(self, folder: &Path, data: &Path, port: u16) -> Command {
        let mut command = Command::new(install::program(self, folder));
        let port = port.to_string();
        match self {
            Kind::S3s => {
                command.args(["--host", "127.0.0.1", "--port", &port]);
                command.args(["--access-key", "test", "--secret-key", "secret"]).arg(data);
            }
            Kind::Moto => {
                command.args(["-H", "127.0.0.1", "-p", &port]);
            }
            Kind::Azurite => {
                // It would send usage data to its makers.
                command.args(["--disableTelemetry", "--silent", "--skipApiVersionCheck"]);
                command.args(["--inMemoryPersistence", "--blobPort", &port]).current_dir(data);
            }
            Kind::Gcs => {
                let url = format!("http://127.0.0.1:{port}");
                command.args(["-scheme", "http", "-backend", "memory", "-host", "127.0.0.1"]);
                command.args(["-port", &port, "-external-url", &url]);
                command.args(["-public-host", &url["http://".len()..]]);
            }
        }
        command
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::S3s => "s3s-fs",
            Kind::Moto => "moto",
            Kind::Azurite => "azurite",
            Kind::Gcs => "fake-gcs-server",
        })
    }
}
