//! The places where nvJPEG may be installed.
use crate::driver::chosen;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

const NAMES: &[&str] = if cfg!(windows) {
    &["nvjpeg64_13.dll", "nvjpeg64_12.dll"]
} else {
    &["libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"]
};

/// Folders of the library in wheels of PyPI, below `site-packages`.
const IN_WHEELS: &[&str] = if cfg!(windows) {
    &["nvidia/cu13/bin/x86_64", "nvidia/cu13/bin", "nvidia/nvjpeg/bin"]
} else {
    &["nvidia/cu13/lib", "nvidia/nvjpeg/lib"]
};

/// Folders of the library below the toolkit's.
const IN_TOOLKIT: &[&str] = if cfg!(windows) { &["bin/x64", "bin"] } else { &["lib64", "lib"] };

/// Libraries to try, in this order, and the searched folders that contain none.
pub(super) struct Candidates {
    pub(super) paths: Vec<PathBuf>,
    pub(super) empty_folders: Vec<PathBuf>,
}

/// Returns only the library at `path` or in `FDCONVERT_NVJPEG_LIB`, if one is named; else those
/// that the system's loader finds, then Python's packages, then the toolkit.
pub(super) fn candidates(path: Option<&Path>) -> Candidates {
    let path = path.map(Path::to_path_buf).or_else(|| chosen("FDCONVERT_NVJPEG_LIB"));
    if let Some(path) = path {
        return Candidates { paths: vec![path], empty_folders: vec![] };
    }
    let mut found =
        Candidates { paths: NAMES.iter().map(PathBuf::from).collect(), empty_folders: vec![] };
    for folder in folders() {
        let files = NAMES.iter().map(|name| folder.join(name)).filter(|file| file.is_file());
        let before = found.paths.len();
        found.paths.extend(files);
        if found.paths.len() == before {
            found.empty_folders.push(folder);
        }
    }
    found
}

fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for prefix in ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(chosen) {
        for packages in site_packages(&prefix) {
            folders.extend(IN_WHEELS.iter().map(|folder| packages.join(folder)));
        }
    }
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(chosen);
    let usual = (!cfg!(windows)).then(|| PathBuf::from("/usr/local/cuda"));
    for toolkit in toolkits.chain(usual) {
        folders.extend(IN_TOOLKIT.iter().map(|folder| toolkit.join(folder)));
    }
    folders
}

/// Returns the `site-packages` of every version of Python below a prefix, in order.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![prefix.join("Lib").join("site-packages")];
    }
    let Ok(entries) = std::fs::read_dir(prefix.join("lib")) else { return vec![] };
    let is_python = |name: &OsStr| name.to_string_lossy().starts_with("python3.");
    let versions = entries.flatten().filter(|entry| is_python(&entry.file_name()));
    let mut found: Vec<_> = versions.map(|it| it.path().join("site-packages")).collect();
    found.sort();
    found
}
